/** The outcome of `work`, or a rejection once `budgetMs` are over; `signal` is then aborted, as nobody waits any more. */
export async function withinBudget<T>(budgetMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const overrun = new AbortController();
  const { promise: overran, reject } = Promise.withResolvers<never>();
  // After a stall of the event loop the timer fires before the socket is read, where the answer may already be: read first.
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
