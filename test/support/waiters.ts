import type { Priority, Waiter } from '../../src/admission/backlog.ts';

/** One that waits in a backlog, by name, and how that ended. */
export class NamedWaiter implements Waiter {
  readonly name: string;
  readonly operation: string;
  priority: Priority;
  started = 0;
  gaveUp = 0;

  constructor(name: string, operation: string, priority: Priority) {
    this.name = name;
    this.operation = operation;
    this.priority = priority;
  }

  readonly start = (): void => {
    this.started++;
  };

  readonly giveUp = (): void => {
    this.gaveUp++;
  };
}
