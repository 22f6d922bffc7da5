import { vi } from 'vitest';
import { Backlog, type BacklogRefusal, type Priority, type Waiter } from '../../src/admission/backlog.ts';
import { NamedWaiter } from './waiters.ts';

export const PATIENCE_MS = 1500;
export const SHORT_MS = 100;
/** How fast the indexer works, in answers per millisecond, unless a test says otherwise. */
export const PER_MS = 0.2;

type Choice = (operation: string) => boolean;
export const anybody: Choice = () => true;
const nobody: Choice = () => false;

/** Lets time pass on the fake timers of vitest. */
export const pass = (ms: number) => void vi.advanceTimersByTime(ms);

/** A backlog, the requests that come, and the indexer that starts them. */
export class DrivenBacklog {
  readonly backlog: Backlog;

  constructor(maxWaiting = 1000) {
    const now = () => performance.now();
    this.backlog = new Backlog({ now }, { patienceMs: PATIENCE_MS, shortPatienceMs: SHORT_MS, maxWaiting, slots: 16 });
  }

  /** Lets one in, whatever the backlog would say. */
  join(name: string, priority: Priority = 'miss', operation = 'any'): NamedWaiter {
    const waiter = new NamedWaiter(name, operation, priority);
    this.backlog.add(waiter);
    return waiter;
  }

  joinMany(count: number, priority: Priority = 'miss', operation = 'any'): NamedWaiter[] {
    return Array.from({ length: count }, (_, index) => this.join(`${priority} ${index}`, priority, operation));
  }

  /** Starts the next request, if there is one. */
  start(mayStart: Choice = anybody, goFirst: Choice = nobody): string | undefined {
    const next = this.backlog.next(mayStart, goFirst);
    next?.start();
    return nameOf(next);
  }

  startAll(mayStart: Choice = anybody, goFirst: Choice = nobody): (string | undefined)[] {
    return Array.from({ length: this.backlog.size }, () => this.start(mayStart, goFirst));
  }

  /** Time passes while the indexer works. */
  work(ms: number, mayStart: Choice = anybody): void {
    for (let n = 0; n < ms * PER_MS; n++) {
      pass(1 / PER_MS);
      this.start(mayStart);
    }
  }

  /** Fills a lane, lets its rate be measured for 200 ms, and returns the misses that still wait: so many. */
  knownBacklog(waiting: number, operation = 'any'): NamedWaiter[] {
    const misses = this.joinMany(waiting + 200 * PER_MS, 'miss', operation);
    this.work(200, (each) => each === operation);
    return misses.slice(200 * PER_MS);
  }

  refusal(priority: Priority = 'miss', operation = 'any'): BacklogRefusal | undefined {
    return this.backlog.refuse(operation, priority);
  }
}

function nameOf(waiter: Waiter | undefined): string | undefined {
  return waiter instanceof NamedWaiter ? waiter.name : undefined;
}
