import type { LifetimePolicy } from '../../src/ton/lifetime-table.ts';
import { POLICIES } from '../../src/ton/lifetime-table.ts';
import type { Said } from '../../src/tools/simulator/past-answers.ts';
import type { Call } from './call.ts';

/**
 * How long a cache may serve an answer after it was received, in ms; the stale windows begin when the lifetime ends.
 */
export type Window = Pick<LifetimePolicy, 'lifetime' | 'staleWhileRevalidate' | 'staleIfError'>;

/** An answer that blocks prove lacks no commit older than this, ms: every block up to that instant has been read. */
export const PROVEN_LACKS_MS = 1000;

/** The maximum age of the names and metadata in an answer, ms: they change without a block. */
export const NAMES_LAST_MS = 300_000;

/** The maximum age of a proven answer with interfaces, or with claims about a mintless jetton, ms. */
const CLAIMS_LAST_MS = 60_000;

/** The maximum age of a proven answer, ms; `text`: its body. */
export function provenForMs({ operation, owner }: Call, text: string): number {
  switch (operation) {
    case 'transactions':
    case 'addressInformation':
    case 'walletInformation':
    case 'jetton/transfers':
      return NAMES_LAST_MS;
    case 'jetton/wallets':
      return owner === undefined || /"mintless_info":\s*\{/.test(text) ? CLAIMS_LAST_MS : NAMES_LAST_MS;
    default:
      return CLAIMS_LAST_MS;
  }
}

/** True if a call is about one account or owner, so that blocks may prove its answer. */
export function isOfAccount({ operation, accounts = [], owner }: Call): boolean {
  return (accounts.length > 0 || owner !== undefined) && operation !== 'pendingTraces';
}

/**
 * The window of an answer by its class, which is read from the body here, independently of `src/ton`.
 * @param receivedBy The latest instant at which it can have been received, epoch ms: the lifetime of children depends
 * on their age.
 */
export function windowOf(call: Call, { status, text }: Said, receivedBy: number): Window {
  const { operation, direction } = call;
  if (status === 404) return POLICIES.notFound;
  const body = JSON.parse(text);
  switch (operation) {
    case 'masterchainInfo':
      return POLICIES.head;
    case 'blocks':
      return body.blocks.length === 0 ? POLICIES.empty : POLICIES.shardsFinal;
    case 'transactionsByMasterchainBlock':
      return body.transactions.length === 0 ? POLICIES.emptyOfBlock : POLICIES.shardsFinalPage;
    case 'masterchainBlockShards':
      return POLICIES.shardsFinal;
    case 'adjacentTransactions':
      if (!body.transactions.every(isFinal)) return POLICIES.adjacentLive;
      return direction === 'in' ? POLICIES.adjacentFinal : growing(newestOf(body.transactions), receivedBy);
    case 'traces':
      return windowOfTraces(call, body.traces, receivedBy);
    case 'addressInformation':
    case 'walletInformation':
    case 'accountStates':
    case 'walletStates':
    case 'jetton/wallets':
    case 'jetton/masters':
    case 'jetton/transfers':
      return POLICIES.accountLive;
    case 'runGetMethod':
      return POLICIES.methodResult;
    case 'transactions':
      if (isOfAccount(call)) return POLICIES.accountLive;
      return body.transactions.length === 0 ? POLICIES.empty : POLICIES.byHashFinal;
    case 'transactionsByMessage':
      return windowOfMessage(call, body.transactions, receivedBy);
    case 'pendingTraces':
      return windowOfPendingTraces(body.traces ?? []);
  }
}

type PendingTraces = readonly { readonly transactions: Readonly<Record<string, Row>> }[];

function windowOfPendingTraces(traces: PendingTraces): Window {
  if (traces.length === 0) return POLICIES.empty;
  const isSettled = traces.flatMap(({ transactions }) => Object.values(transactions)).every(isFinal);
  return isSettled ? POLICIES.pendingFinalized : POLICIES.pendingLive;
}

/** True if a list of pending traces contains both final and other traces. */
export function isMixed(text: string): boolean {
  const traces: PendingTraces = JSON.parse(text).traces ?? [];
  const settled = traces.filter(({ transactions }) => Object.values(transactions).every(isFinal)).length;
  return settled > 0 && settled < traces.length;
}

/** An answer with final data is kept this long after its windows, ms, to be compared with the next one. */
export const KEPT_AFTER_USE_MS = 10_000;
/** And at most this long after the indexer sent it, ms. */
export const KEPT_SINCE_GIVEN_MS = 60_000;

/**
 * For this long after a client got an answer, ms, a less complete one from a lagging source must not replace it.
 * @param ageSeconds The `Age` of the answer, rounded down.
 * @param machineDelayMs The answer may have left the cache this long before the client received it.
 */
export function comparedForMs(
  call: Call,
  said: Said,
  receivedBy: number,
  ageSeconds: number,
  machineDelayMs: number,
): number {
  const { staleWhileRevalidate, staleIfError } = windowOf(call, said, receivedBy);
  const staleMs = Math.max(staleWhileRevalidate, staleIfError);
  const afterUseMs = Math.min(staleMs + KEPT_AFTER_USE_MS, KEPT_SINCE_GIVEN_MS - (ageSeconds + 1) * 1000);
  return (staleMs < KEPT_SINCE_GIVEN_MS ? afterUseMs : staleMs) - machineDelayMs;
}

/** The fields of a transaction that tell how final it is. */
export interface Row {
  readonly now: number;
  readonly emulated: boolean;
  readonly finality?: string;
}

/** True for a transaction in a block. */
export function isFinal({ emulated, finality }: Row): boolean {
  return !emulated && (finality === undefined || finality === 'finalized');
}

function newestOf(rows: readonly Row[]): number {
  return Math.max(...rows.map(({ now }) => now));
}

/** @param newestAt The instant from which the age counts, unix seconds. */
function growing(newestAt: number, receivedBy: number): Window {
  const { minLifetime, maxLifetime, ageDivisor, ...windows } = POLICIES.adjacentGrowing;
  const ageMs = receivedBy - newestAt * 1000;
  return { ...windows, lifetime: Math.min(Math.max(ageMs / ageDivisor, minLifetime), maxLifetime) };
}

interface Message {
  readonly hash: string;
  readonly source: string | null;
}

interface Sides extends Row {
  readonly in_msg: Message | null;
  readonly out_msgs: readonly Message[];
}

interface Trace {
  readonly end_utime: number;
  readonly external_hash: string | null;
  readonly trace_info: { readonly transactions: number };
  readonly transactions_order: readonly string[];
  readonly actions?: readonly unknown[];
}

/** Actions may be classified again. For an hour clients may miss that. */
function windowOfTraces({ by, hashes, includeActions }: Call, traces: readonly Trace[], receivedBy: number): Window {
  const [trace, ...others] = traces;
  if (trace === undefined) return { lifetime: 0, staleWhileRevalidate: 0, staleIfError: 0 };
  const isWhole = traces.every((each) => each.trace_info.transactions === each.transactions_order.length);
  const isExternal = by === 'msg_hash' && hashes?.includes(trace.external_hash ?? '') === true;
  if (!isWhole || (others.length > 0 && !isExternal)) return POLICIES.byHashLive;
  const lacksActions = includeActions === true && trace.actions?.length === 0;
  const endedAt = Math.max(...traces.map(({ end_utime }) => end_utime));
  return isExternal || lacksActions ? growing(endedAt, receivedBy) : POLICIES.byHashFinal;
}

function windowOfMessage({ direction, hashes }: Call, rows: readonly Sides[], receivedBy: number): Window {
  if (rows.length === 0) return POLICIES.empty;
  const [hash] = hashes ?? [];
  const isInternal = rows.every(({ in_msg: message }) => message?.hash !== hash || message?.source !== null);
  const sides = direction === undefined ? 2 : 1;
  return isInternal && rows.length === sides ? POLICIES.byHashFinal : growing(newestOf(rows), receivedBy);
}
