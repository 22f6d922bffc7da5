/** `unclear`: the indexer gave no answer to compare with, or had nothing to ask for. */
export type Result = 'ok' | 'unclear' | 'violation';

/** One line of the table. */
export interface Finding {
  readonly check: string;
  readonly asked: string;
  /** What is wrong; empty if nothing is. */
  readonly problems: readonly string[];
  readonly detail: string;
  /** The check could not be made, for the reason in `detail`. */
  readonly unclear?: boolean;
}

const CHECK_WIDTH = 22;
const ASKED_WIDTH = 58;
const RESULT_WIDTH = 9;

/** Prints the findings. Each line is printed as soon as its check is done, because a run takes minutes. */
export class FindingReport {
  readonly #print: (line: string) => void;
  readonly #counts: Record<Result, number> = { ok: 0, unclear: 0, violation: 0 };
  readonly #unclear: string[] = [];

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** The number of checks with this result; a complete run has no `unclear` ones. */
  count(result: Result): number {
    return this.#counts[result];
  }

  head(): void {
    this.#line('check', 'asked', 'result', 'detail');
    this.#line('-'.repeat(CHECK_WIDTH), '-'.repeat(ASKED_WIDTH), '-'.repeat(RESULT_WIDTH), '-'.repeat(20));
  }

  add({ check, asked, problems, detail, unclear = false }: Finding): void {
    const result: Result = problems.length > 0 ? 'violation' : unclear ? 'unclear' : 'ok';
    this.#counts[result]++;
    if (result === 'unclear') this.#unclear.push(`${check} (${asked}): ${detail}`);
    // Show a violation in full, so that it can be asked for again by hand.
    const shown = result === 'violation' ? asked : shorten(asked);
    this.#line(check, shown, result, [...problems, ...(detail === '' ? [] : [detail])].join('; '));
  }

  /** Reports that a check could not be made, and why. It counts as unclear, and makes the run incomplete. */
  notAsked(check: string, asked: string, reason: string): void {
    this.add({ check, asked, problems: [], detail: reason, unclear: true });
  }

  /** Prints the summary, with the number of requests to the indexer and the seconds they took. */
  end(indexer: string, requests: number, seconds: number): void {
    const { ok, unclear, violation } = this.#counts;
    this.#print(
      `\n${ok} ok, ${unclear} unclear, ${violation} violations; ${requests} requests to ${indexer} in ${seconds} s`,
    );
    for (const reason of this.#unclear) this.#print(`not checked: ${reason}`);
  }

  #line(check: string, asked: string, result: string, detail: string): void {
    this.#print(
      [check.padEnd(CHECK_WIDTH), asked.padEnd(ASKED_WIDTH), result.padEnd(RESULT_WIDTH), detail].join('  ').trimEnd(),
    );
  }
}

function shorten(text: string): string {
  return text.length <= ASKED_WIDTH ? text : `${text.slice(0, ASKED_WIDTH - 16)}…${text.slice(-15)}`;
}
