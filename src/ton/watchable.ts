import { isObject, type JsonObject } from '../json-object.ts';
import type { Call } from './parse-call.ts';

/** What the stream of events can announce about an answer to `pendingTraces`, in the Streaming API's names. */
export interface Watchable {
  /** Accounts that take part in the listed traces, at most 20 of each trace, in raw form. */
  readonly accounts: readonly string[];
  /** Normalized hashes of the external messages of the listed traces. */
  readonly traces: readonly string[];
}

const MOST_ACCOUNTS = 20;

/** An answer with more traces is not watched: they are more than a subscription should hold. */
const MOST_TRACES = 32;

/** Reads the parsed body of a 200. `undefined` for other operations, and where a trace does not say its hash. */
export function watchableOf({ operation }: Call, body: unknown): Watchable | undefined {
  if (operation.name !== 'pendingTraces' || !isObject(body)) return undefined;
  const listed = Array.isArray(body['traces']) ? body['traces'].filter(isObject) : [];
  if (listed.length > MOST_TRACES) return undefined;
  const traces = listed.flatMap((trace) => normalizedHash(trace) ?? []);
  if (traces.length < listed.length) return undefined;
  return { accounts: [...new Set(listed.flatMap(firstAccounts))], traces };
}

/**
 * The accounts that a call names: they can be watched whatever the answer lists. None if it names hashes as well, whose
 * normalized form is not known before the answer lists them.
 */
export function accountsAskedFor({ operation, request }: Call): readonly string[] {
  if (operation.name !== 'pendingTraces' || request.query.some(([name]) => name === 'ext_msg_hash')) return [];
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
  const [action] = Array.isArray(actions) ? actions.filter(isObject) : [];
  const found = (isObject(message) ? message['hash_norm'] : undefined) ?? action?.['trace_external_hash_norm'];
  return typeof found === 'string' && found.length <= 64 && found !== '' ? found : undefined;
}

function firstAccounts({ transactions }: JsonObject): string[] {
  const rows = isObject(transactions) ? Object.values(transactions) : [];
  const accounts = rows.flatMap((row) => (isObject(row) && typeof row['account'] === 'string' ? [row['account']] : []));
  return [...new Set(accounts)].slice(0, MOST_ACCOUNTS);
}
