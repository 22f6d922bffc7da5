/** The outcome of `work`, or a rejection once `budgetMs` are over; `signal` then tells the work that nobody waits. */
export async function withinBudget<T>(budgetMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const overrun = new AbortController();
  const { promise: overran, reject } = Promise.withResolvers<never>();
  // When the event loop stalled, the answer may lie unread in the socket as the timer fires: it is read first.
  const timer = setTimeout(() => {
    setImmediate(() => {
      overrun.abort();
      reject(new Error(`no answer within ${budgetMs} ms`));
    });
  }, budgetMs);
  try {
    return await Promise.race([work(overrun.signal), overran]);
  } finally {
    clearTimeout(timer);
  }
}
