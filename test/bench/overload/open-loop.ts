import type { Call } from './calls.ts';
import type { Connections } from './connections.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { bordersOf, type Due, type Phase } from './schedule.ts';
import { type Tallied, Tally } from './tally.ts';

export interface OpenLoopOptions {
  readonly connections: Connections;
  readonly phases: readonly Phase[];
  /** In the order of being due. */
  readonly schedule: readonly Due[];
  /** Whether a client asks for `pendingTraces` again after anything but an answer. */
  readonly retries: boolean;
  /** The next call of a client that asks on. */
  readonly nextCall: (phase: Phase) => Call;
}

interface Exchange {
  readonly due: Due;
  leave(): void;
}

const PATIENCE_MS = 2000;
/** Of the clock by which requests are sent and clients leave: what is due is up to this late. */
const TICK_MS = 1;
/** What wallets' libraries do on any error. */
const RETRY_AFTER_MS = 100;
const MOST_RETRIES = 20;

/**
 * Sends each request when it is due, however many are unanswered, and leaves it two seconds after that. A client of a
 * closed loop asks on when it was answered, or 100 ms after anything else.
 */
export class OpenLoop {
  readonly #options: OpenLoopOptions;
  readonly #borders: readonly number[];
  readonly #tallies: readonly Tally[];
  /** In the order of being sent. */
  readonly #open = new Set<Exchange>();
  readonly #retries: Due[] = [];
  readonly #finished = Promise.withResolvers<void>();
  #startedAt = 0;
  #sent = 0;
  #retried = 0;

  constructor(options: OpenLoopOptions) {
    this.#options = options;
    this.#borders = bordersOf(options.phases);
    this.#tallies = options.phases.map(({ seconds }) => new Tally(seconds));
  }

  /** Runs once, to the end of the last request; gives what became of each phase's. */
  async run(): Promise<readonly Tallied[]> {
    this.#startedAt = performance.now();
    this.#tick();
    await this.#finished.promise;
    return this.#tallies.map((tally) => tally.result());
  }

  get #nowMs(): number {
    return performance.now() - this.#startedAt;
  }

  #tick(): void {
    const nowMs = this.#nowMs;
    this.#leaveOverdue(nowMs);
    for (let due = this.#options.schedule[this.#sent]; due && due.dueMs <= nowMs; ) {
      this.#send(due, nowMs);
      due = this.#options.schedule[++this.#sent];
    }
    for (let due = this.#retries[this.#retried]; due && due.dueMs <= nowMs; ) {
      this.#send(due, nowMs);
      due = this.#retries[++this.#retried];
    }
    if (nowMs < (this.#borders.at(-1) ?? 0) || this.#open.size > 0) setTimeout(() => this.#tick(), TICK_MS);
    else this.#finished.resolve();
  }

  #send(due: Due, nowMs: number): void {
    this.#tallies[due.phase]?.sent(nowMs - due.dueMs);
    const leave = this.#options.connections.ask(due.call.target, (heard) =>
      this.#end(exchange, outcomeOf(due.call, heard)),
    );
    const exchange: Exchange = { due, leave };
    this.#open.add(exchange);
  }

  #leaveOverdue(nowMs: number): void {
    for (const exchange of this.#open) {
      if (nowMs - exchange.due.dueMs < PATIENCE_MS) return;
      exchange.leave();
      this.#end(exchange, { kind: 'left' });
    }
  }

  #end(exchange: Exchange, outcome: Outcome): void {
    if (!this.#open.delete(exchange)) return;
    const { due } = exchange;
    const nowMs = this.#nowMs;
    const phaseStart = this.#borders[due.phase] ?? 0;
    if (outcome.kind === 'right') this.#tallies[this.#phaseAt(nowMs)]?.answered(outcome.fromCache);
    this.#tallies[due.phase]?.ended(due.call, outcome, due.dueMs - phaseStart, nowMs - due.dueMs);
    if (due.asksOn === true) this.#askOn(due.phase, nowMs + (outcome.kind === 'right' ? 0 : RETRY_AFTER_MS));
    else if (outcome.kind !== 'right') this.#askAgain(due, nowMs + RETRY_AFTER_MS);
  }

  #askOn(phase: number, dueMs: number): void {
    const played = this.#options.phases[phase];
    if (played === undefined || dueMs >= (this.#borders[phase + 1] ?? 0)) return;
    const due = { call: this.#options.nextCall(played), dueMs, phase, retries: 0, asksOn: true };
    if (dueMs <= this.#nowMs) this.#send(due, dueMs);
    else this.#retries.push(due);
  }

  #askAgain({ call, retries }: Due, dueMs: number): void {
    if (!this.#options.retries || call.operation !== 'pendingTraces' || retries === MOST_RETRIES) return;
    const phase = this.#phaseAt(dueMs);
    if (phase < this.#tallies.length) this.#retries.push({ call, dueMs, phase, retries: retries + 1 });
  }

  /** After the last phase a number that no phase has. */
  #phaseAt(instantMs: number): number {
    return this.#borders.findLastIndex((border) => border <= instantMs);
  }
}
