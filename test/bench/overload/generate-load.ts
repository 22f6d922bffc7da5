import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { Connections, type Identity } from '../support/connections.ts';
import { type Due, openLoop } from '../support/open-loop.ts';
import { type Call, Calls, chainOf, HOT_CALLS, isRight, outcomeOf, type Rates } from './calls.ts';
import { type Phase, type PlacedPhase, placed, scheduleOf } from './schedule.ts';
import { type Exchange, type Tally, tally } from './tally.ts';

// A process that warms the hot keys, then offers a load in phases. The load is the same every time.

/** Clients, and how the server can tell them apart. */
export interface Clients {
  /** Their addresses, used in turn. */
  readonly addresses: readonly string[];
  readonly identity: Identity;
}

/** The argument, as JSON. */
export interface LoadOrder extends Clients {
  readonly port: number;
  /** The beginning of the requested chain, epoch ms. */
  readonly chainStartAt: number;
  readonly phases: readonly Phase[];
  /** True if a client requests `pendingTraces` again after every failure. */
  readonly retries: boolean;
  /** After this time clients of the load disconnect. */
  readonly leavesAfterMs: number;
  /** Clients with few requests at the same time, perhaps at another port. */
  readonly polite?: (Clients & { readonly port: number; readonly rates: Rates }) | undefined;
}

/**
 * The line that it prints at the end: the last two phases, and the results of the polite clients in the first of these.
 */
export interface LoadResult {
  readonly load: Tally;
  readonly after: Tally;
  readonly polite?: Tally;
}

export const PATIENCE_MS = 2000;
/** Libraries of wallets retry on any error. */
const RETRY_AFTER_MS = 100;
const MOST_RETRIES = 20;

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
const { polite } = order;
const random = new SeededRandom('overload');
const calls = new Calls(chainOf(order.chainStartAt), random);
const connections = new Connections(order.port, order.addresses, order.identity);
for (const call of HOT_CALLS) {
  const outcome = outcomeOf(call, await connections.ask(call.target));
  if (!isRight(outcome)) throw new Error(`${call.target} was not answered: ${JSON.stringify(outcome)}`);
}
const phases = placed(order.phases);
const [exchanges, politeExchanges] = await Promise.all([
  offer(phases, connections, order.retries, order.leavesAfterMs),
  polite && offer(politePhases(polite.rates), new Connections(polite.port, polite.addresses, polite.identity)),
]);
const [load, after] = phases.slice(-2).map((phase) => tally(exchanges, phase));
const [politeLoad] = phases.slice(-2, -1).map((phase) => politeExchanges && tally(politeExchanges, phase));
console.log(JSON.stringify({ load, after, polite: politeLoad }));

function politePhases(rates: Rates): PlacedPhase[] {
  return phases.map(({ seconds, fromMs, untilMs }) => ({ seconds, fromMs, untilMs, rates }));
}

/** Offers a load. Returns its results. */
async function offer(
  placedPhases: readonly PlacedPhase[],
  by: Connections,
  retries = false,
  leavesAfterMs = PATIENCE_MS,
): Promise<Exchange[]> {
  const endsMs = placedPhases.at(-1)?.untilMs ?? 0;
  const all: Exchange[] = [];
  const exchange = async (call: Call, dueMs: number, startedAt: number): Promise<Exchange> => {
    const sentMs = performance.now() - startedAt;
    const outcome = outcomeOf(call, await by.ask(call.target, leavesAfterMs - (sentMs - dueMs)));
    const ended = { call, dueMs, sentMs, endMs: performance.now() - startedAt, outcome };
    all.push(ended);
    return ended;
  };
  /** Clients that send one request, and wallets that retry until they have an answer. */
  const askOnce = async ({ call, dueMs: firstMs }: Due & { readonly call: Call }, startedAt: number) => {
    const most = retries && call.operation === 'pendingTraces' ? MOST_RETRIES : 0;
    for (let dueMs = firstMs, times = 0; times <= most && dueMs < endsMs; times++) {
      const { endMs, outcome } = await exchange(call, dueMs, startedAt);
      if (isRight(outcome)) return;
      await delay(RETRY_AFTER_MS);
      dueMs = endMs + RETRY_AFTER_MS;
    }
  };
  /** A client of a closed loop: sends another request after each answer, until the phase ends. */
  const askOn = async (first: Due & { readonly call: Call; readonly phase: PlacedPhase }, startedAt: number) => {
    const { rates, untilMs } = first.phase;
    for (let { call, dueMs } = first; dueMs < untilMs; call = calls.next(rates)) {
      const { endMs, outcome } = await exchange(call, dueMs, startedAt);
      const pauseMs = isRight(outcome) ? 0 : RETRY_AFTER_MS;
      if (pauseMs > 0) await delay(pauseMs);
      dueMs = endMs + pauseMs;
    }
  };
  await openLoop(
    placedPhases
      .flatMap((phase) => scheduleOf(phase, random))
      .map((due) => ({ ...due, call: calls.next(due.phase.rates) })),
    (due, startedAt) => (due.phase.clients === undefined ? askOnce(due, startedAt) : askOn(due, startedAt)),
  );
  by.close();
  return all;
}
