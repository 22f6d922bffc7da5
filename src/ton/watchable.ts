import { hash } from 'node:crypto';
import { isFinal } from './finality.ts';
import type { Call } from './parse-call.ts';

/** What the stream of events can announce about an answer to `pendingTraces`, in the Streaming API's names. */
export interface Watchable {
  /** Accounts that take part in the listed traces, at most 20 of each trace, in raw form. */
  readonly accounts: readonly string[];
  /** Normalized hashes of the external messages of the listed traces. */
  readonly traces: readonly string[];
  /** A digest of all that events announce. Answers with equal digests show the same. */
  readonly state: string;
  /**
   * Whether each change of the answer is announced. Not if a listed trace is final, because it leaves the list without
   * an event; nor if a hash was asked for that has no trace yet, because its normalized form is not known.
   */
  readonly isAnnounced: boolean;
}

const MOST_ACCOUNTS = 20;

/** An answer with more traces is not watched: they are more than a subscription should hold. */
const MOST_TRACES = 32;

type JsonObject = Readonly<Record<string, unknown>>;

/** Reads the parsed body of a 200. `undefined` for other operations, and where a trace does not say its hash. */
export function watchableOf({ operation, request }: Call, body: unknown): Watchable | undefined {
  if (operation.name !== 'pendingTraces' || !isObject(body)) return undefined;
  const listed = Array.isArray(body['traces']) ? body['traces'].filter(isObject) : [];
  if (listed.length > MOST_TRACES) return undefined;
  const traces = listed.flatMap((trace) => normalizedHash(trace) ?? []);
  if (traces.length < listed.length) return undefined;
  const asked = request.query.filter(([name]) => name === 'ext_msg_hash').length;
  const transactions = listed.map((trace) => objectsIn(trace['transactions']));
  return {
    accounts: [...new Set(transactions.flatMap(firstAccounts))],
    traces,
    state: hash('sha1', listed.map(stateOf).sort().join('\n'), 'base64'),
    isAnnounced: asked <= listed.length && transactions.every((rows) => !rows.every(isFinal)),
  };
}

/** The accounts that a call names: they can be watched whatever the answer lists. */
export function accountsAskedFor({ operation, request }: Call): readonly string[] {
  if (operation.name !== 'pendingTraces') return [];
  return request.query.flatMap(([name, value]) => (name === 'account' ? [value] : []));
}

/**
 * The indexer's `external_hash` is the hash as it was sent. The normalized hash is in the root transaction's message
 * and in actions.
 */
function normalizedHash({ trace, transactions, actions }: JsonObject): string | undefined {
  const rootHash = isObject(trace) ? trace['tx_hash'] : undefined;
  const root = isObject(transactions) && typeof rootHash === 'string' ? transactions[rootHash] : undefined;
  const message = isObject(root) ? root['in_msg'] : undefined;
  const [action] = objectsIn(actions);
  const found = (isObject(message) ? message['hash_norm'] : undefined) ?? action?.['trace_external_hash_norm'];
  return typeof found === 'string' && found.length <= 64 && found !== '' ? found : undefined;
}

function firstAccounts(transactions: readonly JsonObject[]): string[] {
  const accounts = transactions.flatMap(({ account }) => (typeof account === 'string' ? [account] : []));
  return [...new Set(accounts)].slice(0, MOST_ACCOUNTS);
}

function stateOf({ transactions, actions, trace_info: info }: JsonObject): string {
  const rows = objectsIn(transactions).map(({ hash: id, finality, emulated, mc_block_seqno: seqno }) =>
    textOf([id, finality, emulated, seqno]),
  );
  const actionIds = objectsIn(actions).map(({ action_id: id, finality }) => textOf([id, finality]));
  return JSON.stringify([rows.sort(), actionIds.sort(), isObject(info) && textOf(Object.entries(info).flat())]);
}

/** Lists and objects in place of plain values are left out: nested deeply enough, they overflow the stack as text. */
function textOf(values: readonly unknown[]): string {
  return JSON.stringify(values.map((value) => (typeof value === 'object' ? null : value)));
}

function objectsIn(list: unknown): JsonObject[] {
  return (Array.isArray(list) ? list : isObject(list) ? Object.values(list) : []).filter(isObject);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
