/** The time that some work has. */
export interface Budget {
  /** Whether it is over: then nobody waits for the work any longer. */
  readonly isOver: boolean;
}

/** The outcome of `work`, or a rejection once `budgetMs` are over. */
export async function withinBudget<T>(budgetMs: number, work: (budget: Budget) => Promise<T>): Promise<T> {
  const budget = { isOver: false };
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const overrun = () => {
    budget.isOver = true;
    reject(new Error(`no answer within ${budgetMs} ms`));
  };
  work(budget).then(resolve, reject);
  // When the event loop stalled, the answer may lie unread in the socket as the timer fires: it is read first.
  const timer = setTimeout(setImmediate, budgetMs, overrun);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
