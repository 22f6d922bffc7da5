/** One line of the table. */
export interface Finding {
  readonly check: string;
  readonly asked: string;
  readonly problems: readonly string[];
  readonly detail: string;
  /** The check could not be made, for the reason in `detail`. */
  readonly unclear?: boolean;
}

/**
 * The number of checks with each result. `unclear`: the indexer gave no answer to compare with, or had no data to
 * request.
 */
export type FindingCounts = Record<'ok' | 'unclear' | 'violation', number>;

const CHECK_WIDTH = 22;
const ASKED_WIDTH = 58;
const RESULT_WIDTH = 9;

/** Prints the findings. Each line is printed as soon as its check is done, because a run takes minutes. */
export class FindingReport {
  readonly #print: (line: string) => void;
  readonly #counts: FindingCounts = { ok: 0, unclear: 0, violation: 0 };
  readonly #unclear: string[] = [];

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  head(): void {
    this.#line('check', 'asked', 'result', 'detail');
    this.#line('-'.repeat(CHECK_WIDTH), '-'.repeat(ASKED_WIDTH), '-'.repeat(RESULT_WIDTH), '-'.repeat(20));
  }

  /** Prints and counts a finding. A violation is shown completely, so that it can be requested again by hand. */
  add({ check, asked, problems, detail, unclear = false }: Finding): void {
    const result = problems.length > 0 ? 'violation' : unclear ? 'unclear' : 'ok';
    this.#counts[result]++;
    if (result === 'unclear') this.#unclear.push(`${check} (${asked}): ${detail}`);
    const isShort = result === 'violation' || asked.length <= ASKED_WIDTH;
    const shown = isShort ? asked : `${asked.slice(0, ASKED_WIDTH - 16)}…${asked.slice(-15)}`;
    this.#line(check, shown, result, [...problems, detail].filter((text) => text !== '').join('; '));
  }

  /** Reports that a check could not be made, and why. It counts as unclear, and makes the run incomplete. */
  notAsked(check: string, asked: string, reason: string): void {
    this.add({ check, asked, problems: [], detail: reason, unclear: true });
  }

  /** Prints the summary, with what it `cost` in words, and returns the counts. */
  end(cost: string): FindingCounts {
    const { ok, unclear, violation } = this.#counts;
    this.#print(`\n${ok} ok, ${unclear} unclear, ${violation} violations; ${cost}`);
    for (const reason of this.#unclear) this.#print(`not checked: ${reason}`);
    return this.#counts;
  }

  #line(check: string, asked: string, result: string, detail: string): void {
    this.#print(
      [check.padEnd(CHECK_WIDTH), asked.padEnd(ASKED_WIDTH), result.padEnd(RESULT_WIDTH), detail].join('  ').trimEnd(),
    );
  }
}
