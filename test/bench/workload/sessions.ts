import type { Account } from '../../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../../src/tools/simulator/chain.ts';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { HOUR_MS } from './hour.ts';

/** The requests of one client. Instants are ms after the beginning of the hour. */
export type Session = {
  readonly startMs: number;
  readonly endMs: number;
  /** From one request to the next. */
  readonly everyMs: number;
  /** The seed of all its choices and spellings. */
  readonly seed: number;
  /** Adds an unknown parameter with a new value to each request. */
  readonly bustsCaches: boolean;
} & (
  | { readonly kind: 'wallet'; readonly externalHash: string }
  | { readonly kind: 'watcher'; readonly account: Account }
  | { readonly kind: 'explorer'; readonly hash: string; readonly clicks: number }
  | { readonly kind: 'scanner' }
);

/** The most clients that wait for one trace. */
const MOST_WAITING = 3;
const SCANNERS = 10;
/** On average. */
const BETWEEN_WATCHERS_MS = 2000;
const BETWEEN_VISITS_MS = 100;
const WATCHER_MS = 60_000;
const MOST_CLICKS = 8;
/** A wallet gives up after this time. */
const PATIENCE_MS = 20_000;
/** How long a wallet may still poll after its trace has left the answer, until it notices. */
const NOTICING_MS = 5000;
/** Share of clients that send cache busters. */
const BUSTING_SHARE = 0.1;
/** Share of visits that begin with one of the newest traces; the others begin with a transaction that stays popular. */
const NEWS_SHARE = 0.5;
const NEWS = 300;
const CLASSICS = 2000;
/** Popular transactions are drawn from before this instant; visits before it all begin with new traces. */
const CLASSICS_UNTIL_MS = 20 * 60_000;

/**
 * Every client of an hour, ordered by its start: wallets that wait for each trace, watchers of accounts, visits to
 * explorers, and scanners at the head. The same each time. The chain must begin at 0 and have been advanced to the end of
 * the hour.
 */
export function sessionsOfHour(chain: Chain): Session[] {
  const random = new SeededRandom('workload', '1');
  const traces = chain.recentTraces(HOUR_MS).toReversed();
  const sessions: Session[] = [];
  for (const { externalHash, emulatedAt, goneAt } of traces) {
    // The sender, and often the receiver, an exchange or a shop.
    for (let clients = random.int(1, MOST_WAITING); clients > 0; clients--) {
      const startMs = emulatedAt - random.int(0, 100);
      const endMs = Math.min(goneAt + NOTICING_MS, startMs + PATIENCE_MS);
      sessions.push({ kind: 'wallet', externalHash, startMs, endMs, ...habits(random, [100, 200, 300, 500, 1000]) });
    }
  }
  for (let startMs = 0; startMs < HOUR_MS; startMs += random.int(0, 2 * BETWEEN_WATCHERS_MS)) {
    const account = zipf(chain.accounts.wallets, random);
    const endMs = startMs + random.int(0, 2 * WATCHER_MS);
    sessions.push({ kind: 'watcher', account, startMs, endMs, ...habits(random, [500, 1000, 2000]) });
  }
  const old = traces.filter(({ goneAt }) => goneAt < CLASSICS_UNTIL_MS).flatMap(({ transactions }) => transactions);
  const classics = Array.from({ length: CLASSICS }, () => random.pick(old));
  let known = 0;
  for (let startMs = 5000; startMs < HOUR_MS; startMs += random.int(0, 2 * BETWEEN_VISITS_MS)) {
    while ((traces[known]?.emulatedAt ?? Number.POSITIVE_INFINITY) < startMs) known++;
    const news = traces.slice(Math.max(0, known - NEWS), known).toReversed();
    const isNews = startMs < CLASSICS_UNTIL_MS || random.chance(NEWS_SHARE);
    const hash = isNews ? zipf(news, random).id : zipf(classics, random).hash;
    const clicks = random.int(1, MOST_CLICKS);
    const more = { startMs, endMs: startMs + clicks * 4000, ...habits(random, [500, 1000, 2000]) };
    sessions.push({ kind: 'explorer', hash, clicks, ...more });
  }
  for (let scanners = 0; scanners < SCANNERS; scanners++) {
    sessions.push({ kind: 'scanner', startMs: 0, endMs: HOUR_MS, ...habits(random, [100, 200, 400]) });
  }
  return sessions.sort((a, b) => a.startMs - b.startMs);
}

function habits(random: SeededRandom, everyMs: readonly number[]): Pick<Session, 'everyMs' | 'seed' | 'bustsCaches'> {
  return { everyMs: random.pick(everyMs), seed: random.int(0, 2 ** 31), bustsCaches: random.chance(BUSTING_SHARE) };
}

/** Picks from a list, the n-th element about 1/n as often as the first. Throws for an empty list. */
function zipf<T>(list: readonly T[], random: SeededRandom): T {
  // The sum of 1/k for k up to n is about ln n, so place = n^random inverts the distribution.
  const place = Math.floor((list.length + 1) ** random.next()) - 1;
  const picked = list[Math.min(place, list.length - 1)];
  if (picked === undefined) throw new RangeError('nothing to pick from');
  return picked;
}
