import { readNumbers } from '../status/numbers.ts';
import { Scrape } from '../status/scrape.ts';

/** A sample of one instance, and the samples before it. */
export interface LooksInTime {
  readonly url: string;
  readonly page: Scrape;
  /** Oldest first. If there are none, the rates are averages since the start of the instance. */
  readonly earlier: readonly Scrape[];
  /** Epoch milliseconds. */
  readonly now: number;
}

/** One line of `toncache top --json`: the numbers of the status page, and the seconds that the rates cover. */
export function topLine({ url, page, earlier, now }: LooksInTime): string {
  const upSeconds = Math.max(0.001, now / 1000 - page.sum('process_start_time_seconds'));
  // All counters were 0 then.
  const [oldest = new Scrape([], page.at - 1000 * upSeconds), ...others] = earlier;
  const rateSeconds = (page.at - (others.at(-1) ?? oldest).at) / 1000;
  const numbers = readNumbers([oldest, ...others, page]);
  return `${JSON.stringify({ at: now, url, upSeconds: rounded(upSeconds), rateSeconds: rounded(rateSeconds), ...numbers })}\n`;
}

function rounded(seconds: number): number {
  return Math.round(1000 * seconds) / 1000;
}
