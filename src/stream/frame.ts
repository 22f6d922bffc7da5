/** What one message of the Streaming API v2 says. */
export type Frame =
  /** A change of a trace (its normalized hash in padded base64) and of accounts (`0:UPPERCASE HEX`). */
  | {
      readonly kind: 'event';
      readonly type: EventType;
      /** `undefined` if the event names accounts alone. */
      readonly trace: string | undefined;
      readonly accounts: readonly string[];
    }
  | { readonly kind: 'reply'; readonly id: string | undefined; readonly status: string }
  | { readonly kind: 'error'; readonly id: string | undefined; readonly error: string }
  | { readonly kind: 'bad'; readonly reason: string };

const EVENT_TYPES = [
  'transactions',
  'actions',
  'trace',
  'trace_invalidated',
  'account_state_change',
  'jettons_change',
] as const;

/** The known types of events. An unknown type is read all the same, for the names in it. */
export type EventType = (typeof EVENT_TYPES)[number] | 'other';

/** The largest message that is parsed on the event loop. Of a larger one only the first fields are read. */
const LONGEST_PARSED = 256 * 1024;

/** The most characters of a server's error that are logged. */
const LONGEST_ERROR = 200;

/** The fixed order of an event's first fields. */
const FRONT =
  /^\s*\{\s*"type"\s*:\s*"([a-z_]{1,40})"[^[{]{0,60}"trace_external_hash_norm"\s*:\s*"([A-Za-z0-9+/_=-]{1,64})"/;

/**
 * Reads a message. Never throws: anything that is not a message is `bad`. Names are taken from wherever events have them
 * and are not checked, because a name that nobody watches has no effect.
 */
export function parseFrame(data: unknown): Frame {
  if (typeof data !== 'string') return { kind: 'bad', reason: 'a binary message' };
  if (data.length > LONGEST_PARSED) return parseFront(data);
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return { kind: 'bad', reason: 'not JSON' };
  }
  if (!isObject(message)) return { kind: 'bad', reason: 'no object' };
  const { type, status, error } = message;
  const id = typeof message['id'] === 'string' ? message['id'] : undefined;
  if (typeof error === 'string') return { kind: 'error', id, error: error.slice(0, LONGEST_ERROR) };
  if (typeof status === 'string') return { kind: 'reply', id, status };
  if (typeof type !== 'string') return { kind: 'bad', reason: 'no type, status or error' };
  const [trace] = namesAmong([message['trace_external_hash_norm']]);
  const accounts = accountsIn(message);
  return trace === undefined && accounts.length === 0
    ? { kind: 'bad', reason: 'an event that names nothing' }
    : { kind: 'event', type: typeOf(type), trace, accounts };
}

function parseFront(data: string): Frame {
  const [, type, hash] = FRONT.exec(data) ?? [];
  return type === undefined || hash === undefined
    ? { kind: 'bad', reason: 'too large' }
    : { kind: 'event', type: typeOf(type), trace: hash, accounts: [] };
}

function typeOf(type: string): EventType {
  return EVENT_TYPES.find((known) => known === type) ?? 'other';
}

function accountsIn(event: Readonly<Record<string, unknown>>): string[] {
  const rows = [...valuesOf(event['transactions']), ...valuesOf(event['actions'])].filter(isObject);
  const accounts = rows.flatMap(({ accounts }) => valuesOf(accounts));
  return namesAmong([event['account'], ...rows.map(({ account }) => account), ...accounts]);
}

function namesAmong(values: readonly unknown[]): string[] {
  return [...new Set(values.filter((value) => typeof value === 'string' && value !== ''))] as string[];
}

/** Transactions are a list in one event and a map by hash in another. */
function valuesOf(list: unknown): unknown[] {
  if (Array.isArray(list)) return list;
  return isObject(list) ? Object.values(list) : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
