import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { Connections, type Identity } from '../support/connections.ts';
import { type Due, openLoop } from '../support/open-loop.ts';
import { type Call, Calls, chainOf, HOT_CALLS, isRight, outcomeOf } from './calls.ts';
import { type Phase, type PlacedPhase, placed, scheduleOf } from './schedule.ts';
import { type Exchange, type Tally, tally } from './tally.ts';

// A process: warms the hot keys, and then offers a load in phases. The load is the same every time.

/** The argument, as JSON. */
export interface LoadOrder {
  readonly port: number;
  /** Of the chain that is asked about, epoch ms. */
  readonly chainStartAt: number;
  readonly phases: readonly Phase[];
  /** Whether a client asks for `pendingTraces` again after anything but an answer. */
  readonly retries: boolean;
  /** The addresses it comes from, in turn. */
  readonly addresses: readonly string[];
  readonly identity: Identity;
  /** So many keys of each operation are left to other generators. */
  readonly skip: number;
}

/** The line that it prints when all has ended: the last two phases. */
export interface LoadResult {
  readonly load: Tally;
  readonly after: Tally;
}

const PATIENCE_MS = 2000;
/** What wallets' libraries do on any error. */
const RETRY_AFTER_MS = 100;
const MOST_RETRIES = 20;

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
const random = new SeededRandom('overload');
const calls = new Calls(chainOf(order.chainStartAt), random, { skip: order.skip });
const connections = new Connections(order.port, order.addresses, order.identity);
for (const call of HOT_CALLS) {
  const outcome = outcomeOf(call, await connections.ask(call.target));
  if (!isRight(outcome)) throw new Error(`${call.target} was not answered: ${JSON.stringify(outcome)}`);
}

const phases = placed(order.phases);
const endMs = phases.at(-1)?.untilMs ?? 0;
const schedule = phases.flatMap((phase) => scheduleOf(phase, random));
const exchanges: Exchange[] = [];
await openLoop(
  schedule.map((due) => ({ ...due, call: calls.next(due.phase.rates) })),
  (due, startedAt) => (due.phase.clients === undefined ? askOnce(due, startedAt) : askOn(due, startedAt)),
);
const [load, after] = phases.slice(-2).map((phase) => tally(exchanges, phase));
console.log(JSON.stringify({ load, after }));
connections.close();

/** As clients do that ask once, and wallets that ask again until they are answered. */
async function askOnce({ call, dueMs: firstMs }: Due & { readonly call: Call }, startedAt: number): Promise<void> {
  const most = order.retries && call.operation === 'pendingTraces' ? MOST_RETRIES : 0;
  for (let dueMs = firstMs, retries = 0; retries <= most && dueMs < endMs; retries++) {
    const { endMs: endedMs, outcome } = await exchange(call, dueMs, startedAt);
    if (isRight(outcome)) return;
    await delay(RETRY_AFTER_MS);
    dueMs = endedMs + RETRY_AFTER_MS;
  }
}

/** As a client of a closed loop: asks for something else when it was answered, as long as the phase lasts. */
async function askOn(
  first: Due & { readonly call: Call; readonly phase: PlacedPhase },
  startedAt: number,
): Promise<void> {
  const { rates, untilMs } = first.phase;
  for (let { call, dueMs } = first; dueMs < untilMs; call = calls.next(rates)) {
    const { endMs: endedMs, outcome } = await exchange(call, dueMs, startedAt);
    const pauseMs = isRight(outcome) ? 0 : RETRY_AFTER_MS;
    if (pauseMs > 0) await delay(pauseMs);
    dueMs = endedMs + pauseMs;
  }
}

async function exchange(call: Call, dueMs: number, startedAt: number): Promise<Exchange> {
  const sentMs = performance.now() - startedAt;
  const outcome = outcomeOf(call, await connections.ask(call.target, PATIENCE_MS - (sentMs - dueMs)));
  const ended = { call, dueMs, sentMs, endMs: performance.now() - startedAt, outcome };
  exchanges.push(ended);
  return ended;
}
