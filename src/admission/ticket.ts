import type { Outcome } from '../outcomes.ts';
import type { Ms } from '../time-units.ts';
import type { EndPass, EntryRequest, Refusal } from './guard.ts';
import { guardsOf, type Route } from './route.ts';

/** The right to send one request to the indexer. Its holder calls `free` at the end; further calls of it do nothing. */
export interface Ticket {
  /** The indexer that gets the request. */
  readonly route: Route;
  /**
   * Call right before the request is sent: checks memory and guards once more. With any result but `go`, the ticket is
   * free.
   */
  send(): 'go' | Refusal;
  /**
   * Reports the outcome of the request to circuit breakers, pause and health, when it is known. `retryAfterMs`: the
   * `Retry-After` of a `rate-limited` request.
   */
  learn(outcome: Outcome, retryAfterMs?: Ms): void;
  /** Gives back a ticket that was never sent. Does nothing once it was: its request owns the slot then. */
  drop(): void;
  /**
   * Gives the slot back, so that the next request gets it. Call when the request has ended and, if its answer is
   * stored, after the store: the next request looks into memory then. An outcome that was not reported is `unknown`.
   */
  free(): void;
}

export interface TicketDependencies {
  readonly route: Route;
  /** Why the request would not be sent now; takes nothing. */
  readonly refusal: () => Refusal | undefined;
  readonly onSent: () => void;
  /** Called once, when the ticket is free. */
  readonly onFree: (wasSent: boolean) => void;
}

/** The ticket of a request that has a slot and, if its rate is limited, a reservation. */
export function ticketFor(request: EntryRequest, { route, refusal, onSent, onFree }: TicketDependencies): Ticket {
  let passes: readonly EndPass[] = [];
  let wasSent = false;
  let isFree = false;

  return { route, send, learn, drop, free };

  function send(): 'go' | Refusal {
    const taken = refusal() ?? takePasses(request, route);
    if ('reason' in taken) {
      free();
      return taken;
    }
    passes = taken;
    wasSent = true;
    onSent();
    return 'go';
  }

  function learn(outcome: Outcome, retryAfterMs?: Ms): void {
    const untold = passes;
    passes = [];
    for (const endPass of untold) endPass(outcome, retryAfterMs);
  }

  function drop(): void {
    if (!wasSent) free();
  }

  function free(): void {
    if (isFree) return;
    isFree = true;
    learn('unknown');
    onFree(wasSent);
  }
}

function takePasses(request: EntryRequest, route: Route): readonly EndPass[] | Refusal {
  const passes: EndPass[] = [];
  for (const guard of guardsOf(route, request)) {
    const pass = guard.admit(request.key);
    if (pass === undefined) {
      for (const endPass of passes) endPass('unknown');
      return { reason: guard.reason, retryAfterMs: guard.breaker.retryAfterMs };
    }
    passes.push(request.isOurs ? pass : () => pass('unknown'));
  }
  if (route.health !== undefined) passes.push(route.health.begin());
  return passes;
}
