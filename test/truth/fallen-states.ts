import { POLICIES } from '../../src/ton/lifetime-table.ts';
import type { DatabaseFall } from '../../src/tools/simulator/database-fall.ts';
import type { Call } from './call.ts';
import type { State } from './states.ts';
import { isOfAccount, KEPT_AFTER_USE_MS, KEPT_SINCE_GIVEN_MS } from './windows.ts';

/**
 * An answer is served this long instead of less complete ones, see `docs/background/finality.md` under "Replica lag", ms.
 */
const REGRESSED_MS = 10 * 60_000;
/** The same for the head. */
export const HEAD_REGRESSED_MS = 60_000;
/**
 * That time counts between two loads of the head. The second comes when the answer of the first may not be served any
 * more.
 */
export const HEAD_LOADS_MS = 2 * (POLICIES.head.lifetime + POLICIES.head.staleWhileRevalidate);

/** After a fall of the database its earlier answers may be served for this long, ms. */
function servedMs({ operation }: Call): number {
  return operation === 'masterchainInfo' ? HEAD_REGRESSED_MS + HEAD_LOADS_MS : REGRESSED_MS;
}

/** For how long a database that may fall back shows a state. */
export interface Shown {
  /** The database shows it until then, epoch ms. */
  readonly untilAt: number;
  /** A cache may serve it for this much longer than its window, ms: the database lacks the state now and has less. */
  readonly keptMs: number;
}

/** The same for one state of a call at an instant, epoch ms; undefined if the database has not shown it by then. */
export function shownBy(
  call: Call,
  { fromAt, untilAt }: State,
  falls: readonly DatabaseFall[],
  instant: number,
): Shown | undefined {
  const before = falls.filter(({ at }) => at <= instant);
  const lacking = before.filter((fall) => fall.databaseAt(instant) < fromAt);
  if (fromAt > instant || lacking.some(({ at }) => at <= fromAt)) return undefined;
  const madeUpFor = before.filter((fall) => !lacking.includes(fall));
  const shownUntil = Math.max(untilAt, ...madeUpFor.map((fall) => fall.committedAgainAt(untilAt)));
  if (lacking.length === 0) return { untilAt: shownUntil, keptMs: 0 };
  const sinceMs = Math.max(...lacking.map(({ at }) => instant - at));
  return { untilAt: shownUntil, keptMs: Math.max(Math.min(sinceMs, servedMs(call)), comparedMs(call, sinceMs)) };
}

/**
 * The time for which an answer may be kept only for comparison, ms. An answer about an account may have been proven, so
 * it is kept until 60 s after the indexer sent it. Any other answer is kept for a while after its use, which had ended
 * when the database fell back.
 */
function comparedMs(call: Call, sinceMs: number): number {
  return isOfAccount(call) ? KEPT_SINCE_GIVEN_MS : Math.min(sinceMs + KEPT_AFTER_USE_MS, KEPT_SINCE_GIVEN_MS);
}
