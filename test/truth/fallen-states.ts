import type { DatabaseFall } from '../../src/tools/simulator/database-fall.ts';
import { TABLE } from '../unit/ton/table-of-lifetimes.ts';
import type { Call } from './call.ts';
import type { State } from './states.ts';
import { KEPT_AFTER_USE_MS, KEPT_SINCE_GIVEN_MS } from './windows.ts';

/** So long an answer is served instead of less complete ones, as `docs/reference/answers.md` says under "Replica lag", ms. */
const REGRESSED_MS = 10 * 60_000;
/** The same of the head. */
export const HEAD_REGRESSED_MS = 60_000;
/** That time counts from one load of the head to another: each comes when the one before is no longer served. */
export const HEAD_LOADS_MS = 2 * (TABLE.head.lifetime + TABLE.head.staleWhileRevalidate);

/** So long after a database has fallen back what it said before may be served, ms. */
function servedMs({ operation }: Call): number {
  return operation === 'masterchainInfo' ? HEAD_REGRESSED_MS + HEAD_LOADS_MS : REGRESSED_MS;
}

/** How long a database that may fall back shows a state. */
export interface Shown {
  /** Until when it does, epoch ms. */
  readonly untilAt: number;
  /** So much longer than its window a cache may serve it, ms: the database lacks it now, and says less. */
  readonly keptMs: number;
}

/** The same of a state of a call by an instant, epoch ms; undefined where the database has not shown it by then. */
export function shownBy(
  call: Call,
  { fromAt, untilAt }: State,
  falls: readonly DatabaseFall[],
  instant: number,
): Shown | undefined {
  const before = falls.filter(({ at }) => at <= instant);
  const lacking = before.filter((fall) => fall.databaseAt(instant) < fromAt);
  if (fromAt > instant || lacking.some(({ at }) => at <= fromAt)) return undefined;
  if (lacking.length === 0) {
    return { untilAt: Math.max(untilAt, ...before.map((fall) => fall.committedAgainAt(untilAt))), keptMs: 0 };
  }
  const sinceMs = Math.max(...lacking.map(({ at }) => instant - at));
  // What was only kept when the database fell back had been overtaken by then.
  const afterUseMs = Math.min(sinceMs + KEPT_AFTER_USE_MS, KEPT_SINCE_GIVEN_MS);
  return { untilAt, keptMs: Math.max(Math.min(sinceMs, servedMs(call)), afterUseMs) };
}
