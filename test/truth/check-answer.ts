import { differenceFrom } from '../../src/tools/demo/difference.ts';
import type { DatabaseFall } from '../../src/tools/simulator/database-fall.ts';
import type { Said } from '../../src/tools/simulator/past-answers.ts';
import { type CacheStatus, parseCacheStatus } from '../support/cache-status.ts';
import type { Call } from './call.ts';
import { type Shown, shownBy } from './fallen-states.ts';
import { rowsIn } from './rows.ts';
import type { State } from './states.ts';
import {
  isOfAccount,
  KEPT_SINCE_GIVEN_MS,
  NAMES_LAST_MS,
  PROVEN_LACKS_MS,
  provenForMs,
  type Window,
  windowOf,
} from './windows.ts';

/** An answer with status 200 or 404 as a client got it. Instants are epoch ms, by the clock of the indexer. */
export interface ClientAnswer {
  readonly call: Call;
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly status: number;
  readonly text: string;
  readonly cacheStatus: string | undefined;
  readonly age: string | undefined;
}

/** What an answer is allowed in addition to the windows of its class. */
export interface Allowance {
  /** The delay that this machine may have caused, ms. */
  readonly machineDelayMs: number;
  /** How far a replica of the indexer lags behind, ms. */
  readonly lagMs: number;
  /** The times at which the database fell back. */
  readonly falls: readonly DatabaseFall[];
  /** True if the indexer fails or is overloaded: stale copies are served then. */
  readonly staleIfError: boolean;
  /** The request to the indexer must have been sent after this instant: a purge. */
  readonly notBefore: number;
  /** The beginning of the state that this client saw before, epoch ms. */
  readonly seenFrom: number;
}

export type Verdict =
  | {
      readonly verdict: 'true';
      /** The beginning of the oldest state that the client can have seen now, epoch ms. */
      readonly fromAt: number;
      /** Since then the indexer's answer has not changed. */
      readonly sameSince: number;
      /** The indexer's current answer differs already. */
      readonly isOver: boolean;
      /** How long it had differed when the request was sent, ms; 0 if it had not. */
      readonly outdatedMs: number;
    }
  | { readonly verdict: 'lie' | 'regression'; readonly reason: string };

/** How long a load with followers may take: they may get an answer that was true when the load began. */
const COLLAPSE_MS = 1000;

/**
 * Compares an answer with every state that the indexer had for its call. It has to equal one of them byte for byte, and
 * that state must not be older than the answer's class, `Cache-Status` and `Age` allow.
 */
export function checkAnswer(answer: ClientAnswer, states: readonly State[], allowance: Allowance): Verdict {
  const { sentAt, receivedAt } = answer;
  let cache: CacheStatus;
  try {
    cache = parseCacheStatus(answer.cacheStatus);
  } catch (error) {
    return { verdict: 'lie', reason: String(error) };
  }
  const overdue = provenTooLong(answer, cache, allowance);
  if (overdue !== undefined) return { verdict: 'lie', reason: overdue };
  const isSaid = (state: State) => {
    const { status, text } = state.said();
    return status === answer.status && rowsIn(answer.call, text) === rowsIn(answer.call, answer.text);
  };
  const shown = (state: State) => shownBy(answer.call, state, allowance.falls, receivedAt);
  const past = states.filter((state) => shown(state) !== undefined);
  const current = past.at(-1);
  let newest: { readonly agedMs: number; readonly allowedMs: number } | undefined;
  let oldest: State | undefined;
  for (const state of past.toReversed()) {
    // States older than the one that the client saw are checked only to tell a regression from a lie.
    if (oldest !== undefined && state.untilAt <= allowance.seenFrom) break;
    const asShown = shown(state);
    if (asShown === undefined) continue;
    const agedMs = sentAt - asShown.untilAt;
    // The search ends at a state that ended longer ago than any window, unless the database lacks it.
    if (newest !== undefined && asShown.keptMs === 0 && agedMs > newest.allowedMs) break;
    if (!isSaid(state)) continue;
    const allowedMs = allowedAge(answer, state.said(), asShown, cache, allowance);
    newest ??= { agedMs, allowedMs };
    if (agedMs <= allowedMs) oldest = state;
  }
  // Compared by its end: the chain forgets old changes. Then two states become one, which begins when the first of them
  // began.
  if (oldest !== undefined && oldest.untilAt > allowance.seenFrom) {
    const unnamed = namesTooOld(answer, past, shown, allowance);
    if (unnamed !== undefined) return { verdict: 'lie', reason: unnamed };
    const before = past.slice(0, past.indexOf(oldest));
    const sameSince = before[before.findLastIndex((state) => !isSaid(state)) + 1]?.fromAt ?? oldest.fromAt;
    const isOver = current !== undefined && !isSaid(current);
    return { verdict: 'true', fromAt: oldest.fromAt, sameSince, isOver, outdatedMs: Math.max(0, newest?.agedMs ?? 0) };
  }
  const expected = current === undefined ? '' : `; ${differenceFrom(current.said(), answer)}`;
  if (oldest !== undefined) {
    const since = Math.round(receivedAt - allowance.seenFrom);
    return { verdict: 'regression', reason: `the client has seen a newer state, of ${since} ms ago${expected}` };
  }
  if (newest !== undefined) {
    const { agedMs, allowedMs } = newest;
    const reason = `true until ${Math.ceil(agedMs)} ms before it was asked for, ${Math.floor(allowedMs)} ms are allowed`;
    return { verdict: 'lie', reason: `${reason}${expected}` };
  }
  const future = states.some((state) => !past.includes(state) && isSaid(state));
  return {
    verdict: 'lie',
    reason: `the indexer ${future ? 'has this answer only later' : 'never has this answer'}${expected}`,
  };
}

/** Why the names in an answer are older than any bound; undefined if they are not. */
function namesTooOld(
  { call, sentAt, text }: ClientAnswer,
  past: readonly State[],
  shown: (state: State) => Shown | undefined,
  { machineDelayMs, lagMs }: Allowance,
): string | undefined {
  if (rowsIn(call, text) === text) return undefined;
  const earliest = sentAt - NAMES_LAST_MS - machineDelayMs - lagMs;
  const isRecent = (state: State) => {
    const { untilAt = 0, keptMs = 0 } = shown(state) ?? {};
    return untilAt + keptMs >= earliest && state.said().text === text;
  };
  return past.findLast(isRecent) === undefined ? `its names are more than ${NAMES_LAST_MS} ms old` : undefined;
}

/** True if it was served as proven: then neither its lifetime nor a stale window counts. */
function isProven(cache: CacheStatus): boolean {
  return cache['hit'] === true && cache['detail'] === 'proven';
}

/** Why the answer must not be served as proven; undefined if it may be. */
function provenTooLong(
  { call, age, text }: ClientAnswer,
  cache: CacheStatus,
  { machineDelayMs }: Allowance,
): string | undefined {
  if (!isProven(cache)) return undefined;
  if (!isOfAccount(call)) return 'proven, and about no account';
  const agedMs = Number(age) * 1000;
  const longestMs = provenForMs(call, text);
  return agedMs <= longestMs + machineDelayMs ? undefined : `proven, and ${agedMs} ms old; ${longestMs} ms are allowed`;
}

/** How long before the request an answer may have ceased to be true, ms. */
function allowedAge(
  answer: ClientAnswer,
  said: Said,
  { untilAt, keptMs }: Shown,
  cache: CacheStatus,
  allowance: Allowance,
): number {
  const { sentAt } = answer;
  const { machineDelayMs, lagMs, notBefore } = allowance;
  const window = windowOf(answer.call, said, untilAt + machineDelayMs);
  const byStatus = allowedByStatus(window, cache, allowance);
  // After a fall of the database, an answer that could still be served at the fall is served instead of less complete
  // ones.
  const longestMs = window.lifetime + Math.max(window.staleWhileRevalidate, window.staleIfError);
  const isServed = keptMs > 0 && longestMs >= KEPT_SINCE_GIVEN_MS && mayBeKept(cache);
  const servedMs = isServed ? longestMs : byStatus;
  const byClass = servedMs + keptMs + machineDelayMs;
  // An answer whose `Age` is too low is a lie too.
  const byAge = answer.age === undefined ? Number.POSITIVE_INFINITY : (Number(answer.age) + 1) * 1000 + machineDelayMs;
  return Math.min(byClass, byAge, sentAt - notBefore) + lagMs;
}

/** True if the cache may have kept the answer: it is a hit, or was served instead of a regressed one. */
function mayBeKept(cache: CacheStatus): boolean {
  return cache['hit'] === true || cache['detail'] === 'regressed';
}

function allowedByStatus(window: Window, cache: CacheStatus, { staleIfError }: Allowance): number {
  if (isProven(cache)) return PROVEN_LACKS_MS;
  const { lifetime } = window;
  const staleMs = Math.min(window.staleWhileRevalidate, lifetime);
  const served = lifetime + (staleIfError ? Math.max(staleMs, window.staleIfError) : staleMs);
  if (cache['hit'] === true) return Number(cache['ttl']) >= 0 ? lifetime : served;
  // toncache answered by itself from the known head: such an answer must be true now.
  if (cache['fwd'] === undefined) return 0;
  const { detail } = cache;
  const isIndexersOwn = detail === undefined || NOT_STORED.includes(String(detail));
  return Math.max(isIndexersOwn ? 0 : served, cache['collapsed'] === true ? COLLAPSE_MS : 0);
}

/**
 * Values of `detail` of an answer that has just come from the indexer. With any other value a kept answer is served
 * instead.
 */
const NOT_STORED = ['too-large', 'expired', 'purged'];
