import { vi } from 'vitest';
import { Admission, type AdmissionDependencies } from '../../../src/admission/admission.ts';
import type { EndPass, EntryRequest, Guard, Refusal, RefusalReason } from '../../../src/admission/guard.ts';
import { FIRST_TRY } from '../../../src/admission/send-rules.ts';
import { Slots } from '../../../src/admission/slots.ts';
import type { Ticket } from '../../../src/admission/ticket.ts';
import { type FleetRoute, Routes } from '../../../src/fleet/routes.ts';
import { sentFor } from '../../support/sent-for.ts';

export const PATIENCE_MS = 1500;

export const MUCH_MEMORY = { refusesLoads: false };

export interface TestAdmissionOptions
  extends Partial<Pick<AdmissionDependencies, 'memory'> & Pick<FleetRoute, 'rate'>> {
  readonly guards?: readonly Guard[];
  readonly max?: number;
  readonly maxWaiting?: number;
  readonly shares?: Readonly<Record<string, number>>;
}

/** An admission that uses vitest's fake timers. */
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
  const admission = new Admission({ now, routes, memory, patienceMs: PATIENCE_MS, shortPatienceMs: 100, maxWaiting });
  slotsOf.set(admission, slots);
  return admission;
}

const slotsOf = new WeakMap<Admission, Slots>();

/** The number of taken slots of an admission from {@link openAdmission}. */
export const slotsInUse = (admission: Admission) => slotsOf.get(admission)?.inUse;

/** A guard that the test controls; it records how its passes ended. */
export class FakeGuard implements Guard {
  readonly reason: RefusalReason;
  readonly breaker = this;
  retryAfterMs = 0;
  isOpen = false;
  readonly isClosed = true;
  /** Refuses requests that already have a ticket, as a half-open breaker does. */
  refusesTickets = false;
  readonly ended: (readonly [outcome: string, retryAfterMs: number | undefined])[] = [];

  constructor(reason: RefusalReason) {
    this.reason = reason;
  }

  refusal(): Refusal | undefined {
    return this.isOpen ? { reason: this.reason, retryAfterMs: this.retryAfterMs } : undefined;
  }

  admit(): EndPass | undefined {
    if (this.isOpen || this.refusesTickets) return undefined;
    return (outcome, retryAfterMs) => void this.ended.push([outcome, retryAfterMs]);
  }
}

/** A client that requests a ticket, with the results so far. */
class Client {
  readonly request: EntryRequest;
  entered: Ticket | Refusal | undefined;
  sent: Awaited<ReturnType<Ticket['send']>> | undefined;
  readonly #leaving = new AbortController();

  constructor(admission: Admission, operation: string) {
    this.request = { operation, key: 'key', clients: ['one'], ...FIRST_TRY, sentFor: sentFor(this.#leaving.signal) };
    void Promise.resolve(admission.enter(this.request)).then((entered) => {
      this.entered = entered;
    });
  }

  /** `ticket`, or the reason of the refusal; `undefined` while the client waits. */
  get said(): string | undefined {
    if (this.entered === undefined) return undefined;
    return 'reason' in this.entered ? this.entered.reason : 'ticket';
  }

  get ticket(): Ticket {
    const { entered } = this;
    if (entered === undefined || 'reason' in entered) throw new Error(`said ${this.said}`);
    return entered;
  }

  /** Calls `send` of the ticket and keeps the result in `sent`. */
  send(): void {
    void Promise.resolve(this.ticket.send()).then((sent) => {
      this.sent = sent;
    });
  }

  leave(): void {
    this.#leaving.abort(new Error('the client left'));
  }
}

/** Runs due timers, and lets all promises settle that can settle now. */
export const settle = () => vi.advanceTimersByTimeAsync(0);

/** Clients that request a ticket one after the other, a millisecond apart. */
export async function come(admission: Admission, count: number, operation = 'any'): Promise<Client[]> {
  const clients: Client[] = [];
  for (let n = 0; n < count; n++) {
    clients.push(new Client(admission, operation));
    await vi.advanceTimersByTimeAsync(1);
  }
  return clients;
}

export const said = (clients: readonly Client[]) => clients.map((client) => client.said);
