import { digest } from '../../src/simulator/seeded-random.ts';
import { type Call, nameOf } from './call.ts';

/** What went wrong, and for whom. */
export interface Finding {
  readonly kind: 'lie' | 'regression' | 'needless refusal';
  readonly text: string;
}

/** What a run of the checker has counted. */
export class Tally {
  readonly findings: Finding[] = [];
  /** Requests that the indexer got. */
  upstream = 0;
  readonly #counts = new Map<string, number>();
  readonly #states = new Set<string>();
  readonly #onFound: (finding: Finding) => void;

  /** @param onFound Told of each finding at once. */
  constructor(onFound: (finding: Finding) => void) {
    this.#onFound = onFound;
  }

  count(what: string): void {
    this.#counts.set(what, this.of(what) + 1);
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  found(finding: Finding): void {
    this.count(finding.kind);
    this.findings.push(finding);
    this.#onFound(finding);
  }

  /** A client saw a state of a call, which began at that instant. Pages with equal bytes are one. */
  sawState({ limit: _limit, offset: _offset, ...call }: Call, fromAt: number, text: string): void {
    this.#states.add(`${nameOf(call)} ${fromAt} ${digest(text)}`);
  }

  /** The requests of a cache that knows all: one for each state that a client saw. */
  get ideal(): number {
    return this.#states.size;
  }

  /** The counts, as rows of a table. */
  get rows(): readonly (readonly [string, string])[] {
    const answers = this.of('answers');
    const ratio = this.ideal === 0 ? '' : `, ${(this.upstream / this.ideal).toFixed(2)} times as many were made`;
    return [
      ['answers checked', `${answers}, ${percent(this.of('hits'), answers)} of them hits`],
      ['lies', String(this.of('lie'))],
      ['regressions', String(this.of('regression'))],
      ['needless refusals', String(this.of('needless refusal'))],
      ['refusals that a fault explains', String(this.of('explained refusals'))],
      ['purges', String(this.of('purges'))],
      ['requests to the indexer', String(this.upstream)],
      ['requests of an all-knowing cache', `${this.ideal}${ratio}`],
    ];
  }
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${Math.round((100 * part) / whole)} %`;
}
