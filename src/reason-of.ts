/**
 * The message of the innermost cause of an error, which tells most: undici and Node wrap the system's error.
 * `undefined` where there is none.
 */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return reasonOf(inner) ?? (error.message || undefined);
}
