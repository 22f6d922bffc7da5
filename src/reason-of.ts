/** What OpenSSL says, with the number of its thread before it and the place in its source behind it. */
const OF_OPENSSL = /^[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/s;

/**
 * The message of the innermost cause of an error, which tells most: undici and Node wrap the system's error.
 * `undefined` where there is none.
 */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return reasonOf(inner) ?? (error.message.replace(OF_OPENSSL, 'TLS: $1') || undefined);
}
