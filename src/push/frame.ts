/** One message of the Streaming API v2. */
export type Frame =
  /** A change of a trace (its normalized hash in padded base64) and of accounts (`0:UPPERCASE HEX`). */
  | { readonly kind: 'event'; readonly trace: string | undefined; readonly accounts: readonly string[] }
  | { readonly kind: 'reply'; readonly id: string | undefined; readonly status: string }
  | { readonly kind: 'error'; readonly id: string | undefined; readonly error: string }
  /** Neither. */
  | { readonly kind: 'bad' };

/** Answers to operations are shorter, in characters. Events can have megabytes, which are not parsed. */
const LONGEST_REPLY = 4096;

/** The maximum number of characters of a server's error in the log. */
const LONGEST_ERROR = 200;

/** Events name their trace first, before their bodies. */
const TRACE = /"trace_external_hash_norm"\s*:\s*"([A-Za-z0-9+/_=-]{1,64})"/;
const FRONT = 1000;

const ACCOUNT = /-?\d{1,3}:[0-9A-F]{64}/g;

/**
 * Reads a message; never throws. An event concerns its trace and every account that it spells: an unwatched name has no
 * effect, and a wrong one costs one request.
 */
export function parseFrame(data: unknown): Frame {
  if (typeof data !== 'string') return { kind: 'bad' };
  const { id, status, error } = data.length <= LONGEST_REPLY ? membersOf(data) : {};
  const known = typeof id === 'string' ? id : undefined;
  if (typeof error === 'string') return { kind: 'error', id: known, error: error.slice(0, LONGEST_ERROR) };
  if (typeof status === 'string') return { kind: 'reply', id: known, status };
  const trace = TRACE.exec(data.slice(0, FRONT))?.[1];
  const accounts = [...new Set(data.match(ACCOUNT))];
  return trace === undefined && accounts.length === 0 ? { kind: 'bad' } : { kind: 'event', trace, accounts };
}

function membersOf(text: string): { readonly id?: unknown; readonly status?: unknown; readonly error?: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
