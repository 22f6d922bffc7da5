import { OPERATION_NAMES } from '../../src/ton/operation-names.ts';
import type { RequestLog } from '../../src/tools/simulator/request-log.ts';
import { digest } from '../../src/tools/simulator/seeded-random.ts';
import { type Call, nameOf } from './call.ts';

/** A finding, and the request that it concerns. */
export interface Finding {
  readonly kind: 'lie' | 'regression' | 'needless refusal' | 'needless wait';
  readonly text: string;
}

/**
 * A change counts only if a client sent a request within this time before it, ms. Without polling no client could see
 * it at once.
 */
const POLLED_WITHIN_MS = 2000;

/** The counts of a run. */
export class Tally {
  readonly findings: Finding[] = [];
  readonly #counts = new Map<string, number>();
  readonly #states = new Set<string>();
  readonly #ideal = new Map<Call['operation'], number>();
  /** The last request of each call. */
  readonly #askedAt = new Map<string, number>();
  /** From a change of polled pending traces to the first client that saw it, ms. */
  readonly #seenAfterMs: number[] = [];
  /** The allowance of each answer for a slow machine, ms. */
  readonly #grantedMs: number[] = [];
  readonly #upstream = new Map<string, number>();
  /** When each instance, by its place, gave proven answers, epoch ms. */
  readonly #provenAt = new Map<number, number[]>();
  /** How long the indexer's answer had differed when a request was sent whose answer was proven, ms. */
  readonly #provenOutdatedMs: number[] = [];
  /** From the end of a fault to the next proven answer of an instance that had given proven answers before it, ms. */
  readonly #provenAfterMs: number[] = [];
  /** The same without such an answer until the end of the run. */
  #notProvenAgain = 0;
  #olderAnswers = 0;
  readonly #onFound: (finding: Finding) => void;

  /** @param onFound Called with each finding at once. */
  constructor(onFound: (finding: Finding) => void) {
    this.#onFound = onFound;
  }

  /** An answer had this allowance for a slow machine, ms. The larger it is, the less a run proves. */
  granted(machineDelayMs: number): void {
    this.#grantedMs.push(machineDelayMs);
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

  /**
   * A client saw a state of a call, which began at that instant. Pages with equal bytes are one state.
   * @param sentAt When it sent the request; `receivedAt`: when it had the answer, epoch ms.
   */
  sawState(
    { limit: _limit, offset: _offset, ...call }: Call,
    fromAt: number,
    text: string,
    sentAt: number,
    receivedAt: number,
  ): void {
    const name = nameOf(call);
    const state = `${name} ${fromAt} ${digest(text)}`;
    const askedAt = this.#askedAt.get(name) ?? Number.NEGATIVE_INFINITY;
    this.#askedAt.set(name, sentAt);
    if (this.#states.has(state)) return;
    this.#states.add(state);
    if (call.operation === 'pendingTraces' && askedAt < fromAt && fromAt - askedAt < POLLED_WITHIN_MS)
      this.#seenAfterMs.push(receivedAt - fromAt);
    this.#ideal.set(call.operation, (this.#ideal.get(call.operation) ?? 0) + 1);
  }

  /** An instance gave a proven answer at that instant, epoch ms, which had ceased to be true this long before. */
  sawProof(place: number, at: number, outdatedMs: number): void {
    this.count('proven');
    if (outdatedMs > 0) this.#provenOutdatedMs.push(outdatedMs);
    const known = this.#provenAt.get(place) ?? [];
    known.push(at);
    this.#provenAt.set(place, known);
  }

  /** A fault lasted from one instant to another, epoch ms. Measures how soon answers are proven again. */
  faultLasted(fromAt: number, untilAt: number): void {
    for (const provenAt of this.#provenAt.values()) {
      if (!provenAt.some((at) => at < fromAt)) continue;
      const again = provenAt.find((at) => at >= untilAt);
      if (again === undefined) this.#notProvenAgain++;
      else this.#provenAfterMs.push(again - untilAt);
    }
  }

  /** The indexer got this many requests, by operation. */
  addUpstream(requests: RequestLog): void {
    for (const operation of OPERATION_NAMES) {
      this.#upstream.set(operation, (this.#upstream.get(operation) ?? 0) + requests.count(operation));
    }
    this.#upstream.set('all', (this.#upstream.get('all') ?? 0) + requests.total);
  }

  /** An instance has served this many older answers, by its own metric. */
  addOlderAnswers(answers: number): void {
    this.#olderAnswers += answers;
  }

  /** The counts, as rows of a table. */
  get rows(): readonly (readonly [string, string])[] {
    const answers = this.of('answers');
    const ofAccounts = this.of('answers about accounts');
    const ofOwners = this.of('answers about owners');
    const ofMethods = this.of('answers of get-methods');
    return [
      ['answers checked', `${answers}, ${percent(this.of('hits'), answers)} of them hits`],
      ['answers about accounts', `${ofAccounts}, ${percent(this.of('proven'), ofAccounts)} of them proven`],
      ['answers about owners', `${ofOwners}, ${percent(this.of('proven, about owners'), ofOwners)} of them proven`],
      [
        'answers of get-methods',
        `${ofMethods}, ${percent(this.of('proven, of get-methods'), ofMethods)} of them proven`,
      ],
      ['lies', String(this.of('lie'))],
      ['regressions', String(this.of('regression'))],
      ['needless refusals', String(this.of('needless refusal'))],
      ['needless waits', String(this.of('needless wait'))],
      ['refusals that a fault explains', String(this.of('explained refusals'))],
      ['lists with traces that are final and others, not checked', String(this.of('mixed lists'))],
      ['purges', String(this.of('purges'))],
      ['older answers served, as the instances of the end have counted', String(this.#olderAnswers)],
      ['changes of pending traces seen', `${this.#seenAfterMs.length}, ${quantiles(this.#seenAfterMs)}`],
      ['proven answers that were over', `${this.#provenOutdatedMs.length}, for ${quantiles(this.#provenOutdatedMs)}`],
      ['proven again after a fault', `${this.#provenAfterMs.length}, ${quantiles(this.#provenAfterMs)}`],
      ['not proven again until the end of the run', String(this.#notProvenAgain)],
      ['granted for a slow machine', quantiles(this.#grantedMs)],
      // An ideal cache sends one request for each state that a client saw.
      ...OPERATION_NAMES.map((operation) => this.#requests(operation, this.#ideal.get(operation) ?? 0)),
      this.#requests('all', this.#states.size),
    ];
  }

  #requests(what: string, ideal: number): readonly [string, string] {
    const made = this.#upstream.get(what) ?? 0;
    const times = ideal === 0 ? '' : `, ${(made / ideal).toFixed(2)} times`;
    return [`requests to the indexer, ${what}`, `${made}; an ideal cache ${ideal}${times}`];
  }
}

function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, at most ${at(1)} ms`;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${Math.round((100 * part) / whole)} %`;
}
