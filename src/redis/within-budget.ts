import type { Ms } from '../time-units.ts';

/** The outcome of `work`, or a rejection after `budgetMs`. */
export async function withinBudget<T>(budgetMs: Ms, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const overrun = () => reject(new Error(`no response within ${Math.ceil(budgetMs)} ms`));
  work().then(resolve, reject);
  let timer: NodeJS.Timeout | undefined;
  // Commands leave at the end of this tick of the event loop (`connect.ts`): the time counts from there.
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
