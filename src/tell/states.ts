import type { CircuitBreaker } from '../circuit-breaker.ts';
import type { Clock } from '../clock.ts';
import type { Head } from '../indexer/head.ts';
import type { HeadPolls } from '../indexer/head-polls.ts';
import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import { shorterHistories, shorterHistoryText } from '../ton/histories.ts';
import type { ConditionName } from './conditions.ts';
import type { IndexerErrors } from './indexer-errors.ts';
import type { Conditions } from './present-conditions.ts';

/** A newest block that has not changed for longer than this stands still. */
export const STILL_MS: Ms = 120_000;

/** A newest block that is older than this is outdated, although newer ones follow: the indexer catches up. */
const OLD_MS: Ms = 600_000;

/** The conditions of an indexer for which its head polls are not answered either. */
const EXPLAINING: readonly ConditionName[] = ['key-refused', 'not-reached', 'indexer-fails', 'paused'];

/** Clocks that differ by more than this are wrong. */
const CLOCK_MS: Ms = 5000;

/** The log is blocked when lines wait for this long, or one was dropped. */
const LOG_WAITS_MS: Ms = 60_000;

export interface StatesDependencies {
  readonly conditions: Conditions;
  readonly errors: Pick<IndexerErrors, 'last'>;
  readonly indexers: readonly {
    readonly name: string;
    readonly head: Pick<Head, 'lastWord' | 'fallenBlocks' | 'oldestBlock'>;
    readonly polls: Pick<HeadPolls, 'isUnresponsive' | 'askIfDue'>;
    readonly route: { readonly isBackup: boolean };
    /** By operation. */
    readonly breakers: ReadonlyMap<string, { readonly breaker: Pick<CircuitBreaker, 'isFailing'> }>;
  }[];
  readonly clock: Pick<Clock, 'aheadOfWallMs'>;
  readonly hasRedis: boolean;
  readonly logOutput: { readonly dropped: number; readonly waitingBytes: number };
  readonly now: () => MonotonicMs;
}

/** Returns a function that says the states that grow with time, and that no event ends. Call it about once a second. */
export function statesTeller(dependencies: StatesDependencies): () => void {
  const tellLog = logTeller(dependencies);
  return () => {
    tellHeads(dependencies);
    tellBreakers(dependencies);
    tellClocks(dependencies);
    tellLog();
  };
}

function tellHeads({ conditions, indexers }: StatesDependencies): void {
  const replicas = indexers.filter(({ route }) => !route.isBackup);
  const firstBlocks = replicas.flatMap(({ name, head }) =>
    head.oldestBlock === undefined ? [] : [[name, head.oldestBlock] as const],
  );
  const shorter = shorterHistories(new Map(firstBlocks));
  for (const { name: upstream, head, polls } of replicas) {
    const { lastWord: { sameForMs = 0, ageMs = 0 } = {}, fallenBlocks } = head;
    conditions.turn(fallenBlocks > 0, 'head-fell', { upstream }, fallenBlocks.toLocaleString('en'), { lasts: true });
    conditions.turn(sameForMs > STILL_MS, 'head-still', { upstream }, duration(sameForMs), { lasts: true });
    conditions.turn(ageMs > OLD_MS, 'head-old', { upstream }, duration(ageMs), { lasts: true });
    // An indexer that fails, or is rate limited, does not answer head polls either.
    // After its end they go on for seconds, until the next one.
    const isFailing = conditions.active.some((it) => it.upstream === upstream && EXPLAINING.includes(it.name));
    conditions.turn(polls.isUnresponsive && !isFailing, 'silent', { upstream }, '', { lasts: true });
    const first = shorter.get(upstream);
    conditions.turn(first !== undefined, 'short-history', { upstream }, shorterHistoryText(upstream, first ?? 0));
  }
}

function tellBreakers({ conditions, indexers, errors }: StatesDependencies): void {
  for (const { name: upstream, breakers, polls, route } of indexers) {
    let isUsed = !polls.isUnresponsive && conditions.named(['key-refused', 'not-reached'], upstream).length === 0;
    for (const [operation, { breaker }] of breakers) {
      const { isFailing } = breaker;
      isUsed &&= !isFailing;
      conditions.turn(isFailing, 'breaker-open', { upstream, operation }, errors.last(upstream), { lasts: true });
    }
    // Nothing else finds that an indexer is back without requests, or while responses show its newest block.
    if (!isUsed && !route.isBackup) polls.askIfDue();
  }
}

function tellClocks({ conditions, indexers, clock, hasRedis }: StatesDependencies): void {
  const aheadMs = hasRedis ? clock.aheadOfWallMs : 0;
  // A chain that is behind proves nothing: it may catch up.
  const ages = indexers.flatMap(({ head }) => head.lastWord?.ageMs ?? []);
  const chainAheadMs = ages.length === 0 ? 0 : -Math.max(...ages);
  const isRedis = Math.abs(aheadMs) > CLOCK_MS;
  const words = `${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  const why = isRedis
    ? `the clock of Redis is ${words} that of this machine`
    : `the chain is ${duration(chainAheadMs)} ahead of our clock`;
  conditions.turn(isRedis || chainAheadMs > CLOCK_MS, 'clock-wrong', {}, why);
}

function logTeller({ conditions, logOutput, now }: StatesDependencies): () => void {
  let waitsSince: MonotonicMs | undefined;
  let dropped = 0;
  return () => {
    waitsSince = logOutput.waitingBytes > 0 ? (waitsSince ?? now()) : undefined;
    const isBlocked = logOutput.dropped > dropped || (waitsSince !== undefined && now() - waitsSince >= LOG_WAITS_MS);
    dropped = logOutput.dropped;
    conditions.turn(isBlocked, 'log-blocked');
  };
}
