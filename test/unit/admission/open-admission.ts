import { vi } from 'vitest';
import { Admission, type AdmissionDependencies, type Ticket } from '../../../src/admission/admission.ts';
import { Backlog } from '../../../src/admission/backlog.ts';
import type { EntryRequest, Guard, Refusal, RefusalReason } from '../../../src/admission/guard.ts';
import { FIRST_TRY } from '../../../src/admission/lane.ts';
import { Slots } from '../../../src/admission/slots.ts';
import type { EndCall } from '../../../src/circuit-breaker.ts';
import { type FleetRoute, Routes } from '../../../src/fleet/routes.ts';
import { sentFor } from '../../support/sent-for.ts';

export const PATIENCE_MS = 1500;

export const MUCH_MEMORY = { refusesLoads: false };

export interface TestAdmissionOptions
  extends Partial<Pick<AdmissionDependencies, 'memory'> & Pick<FleetRoute, 'rate'>> {
  /** Of the operation `any`. */
  readonly guards?: readonly Guard[];
  readonly max?: number;
  readonly maxWaiting?: number;
  readonly shares?: Readonly<Record<string, number>>;
}

/** An admission on the fake timers of vitest. */
export function openAdmission({
  max = 2,
  maxWaiting = 100,
  shares = {},
  memory = MUCH_MEMORY,
  guards = [],
  rate,
}: TestAdmissionOptions = {}): Admission {
  const now = () => performance.now();
  const slots = new Slots({ now, max, shares, patienceMs: PATIENCE_MS });
  const routes = new Routes(() => 0, [{ index: 0, isBackup: false, slots, rate, guards: new Map([['any', guards]]) }]);
  const backlog = new Backlog({ now, routes, patienceMs: PATIENCE_MS, shortPatienceMs: 100, maxWaiting });
  const admission = new Admission({ routes, backlog, memory });
  slotsOf.set(admission, slots);
  return admission;
}

const slotsOf = new WeakMap<Admission, Slots>();

/** The slots taken of an admission that was opened here. */
export const slotsInUse = (admission: Admission) => slotsOf.get(admission)?.inUse;

/** A guard that does what a test says, and remembers how its passes ended. */
export class FakeGuard implements Guard {
  readonly reason: RefusalReason;
  readonly breaker = this;
  retryAfterMs = 0;
  isOpen = false;
  readonly isClosed = true;
  /** Refuses requests that already have a ticket, as a half-open circuit does. */
  refusesTickets = false;
  readonly ended: (readonly [outcome: string, retryAfterMs: number | undefined])[] = [];

  constructor(reason: RefusalReason) {
    this.reason = reason;
  }

  admit(): EndCall | undefined {
    return this.isOpen || this.refusesTickets ? undefined : () => {};
  }

  readonly end: Guard['end'] = (_endCall, outcome, _key, retryAfterMs) => void this.ended.push([outcome, retryAfterMs]);
}

/** One that asks for a ticket, and what came of it so far. */
class Client {
  readonly request: EntryRequest;
  entered: Ticket | Refusal | undefined;
  sent: Awaited<ReturnType<Ticket['send']>> | undefined;
  readonly #leaving = new AbortController();

  constructor(admission: Admission, operation: string) {
    this.request = { operation, key: 'key', clients: ['one'], lane: FIRST_TRY, sentFor: sentFor(this.#leaving.signal) };
    void Promise.resolve(admission.enter(this.request)).then((entered) => {
      this.entered = entered;
    });
  }

  /** `ticket`, why it was refused, or undefined while this one waits. */
  get said(): string | undefined {
    if (this.entered === undefined) return undefined;
    return 'reason' in this.entered ? this.entered.reason : 'ticket';
  }

  get ticket(): Ticket {
    const { entered } = this;
    if (entered === undefined || 'reason' in entered) throw new Error(`said ${this.said}`);
    return entered;
  }

  /** Waits until it may be sent, or is refused. */
  send(): void {
    void Promise.resolve(this.ticket.send()).then((sent) => {
      this.sent = sent;
    });
  }

  leave(): void {
    this.#leaving.abort(new Error('the client left'));
  }
}

/** Lets all promises settle that can. */
export const settle = () => vi.advanceTimersByTimeAsync(0);

/** Requests that come one after the other, a millisecond apart. */
export async function come(admission: Admission, count: number, operation = 'any'): Promise<Client[]> {
  const clients: Client[] = [];
  for (let n = 0; n < count; n++) {
    clients.push(new Client(admission, operation));
    await vi.advanceTimersByTimeAsync(1);
  }
  return clients;
}

export const said = (clients: readonly Client[]) => clients.map((client) => client.said);
