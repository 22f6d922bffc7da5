import type { Ms } from '../time-units.ts';

/** The time that a piece of work has. */
export interface Budget {
  /** Whether the time is over: then nobody waits for the work any longer. */
  readonly isOver: boolean;
}

/** The outcome of `work`, or a rejection after `budgetMs`. */
export async function withinBudget<T>(budgetMs: Ms, work: (budget: Budget) => Promise<T>): Promise<T> {
  const budget = { isOver: false };
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const overrun = () => {
    budget.isOver = true;
    reject(new Error(`no answer within ${budgetMs} ms`));
  };
  work(budget).then(resolve, reject);
  let timer: NodeJS.Timeout | undefined;
  // Commands leave at the end of this turn of the event loop (`connect.ts`): the time counts from there.
  const sent = setImmediate(() => {
    // After a stall of the event loop the answer may still be unread in the socket when the timer fires. `setImmediate`
    // lets it be read first.
    timer = setTimeout(setImmediate, budgetMs, overrun);
  });
  try {
    return await promise;
  } finally {
    clearImmediate(sent);
    clearTimeout(timer);
  }
}
