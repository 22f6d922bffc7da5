/** What `work` resolves with, or `undefined` after `ms` milliseconds; the work continues then. */
export async function settledWithin<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
