import { SeededRandom } from '../../../src/simulator/seeded-random.ts';
import { type Call, Calls, chainOf, HOT_CALLS } from './calls.ts';
import { Connections } from './connections.ts';
import { OpenLoop } from './open-loop.ts';
import { outcomeOf } from './outcome.ts';
import { type Phase, scheduleOf } from './schedule.ts';
import type { Tallied } from './tally.ts';

// A process: warms the hot keys, and then offers a load in phases. The load is the same every time.

/** The argument, as JSON. */
export interface LoadOrder {
  readonly port: number;
  /** Of the chain that is asked about, epoch ms. */
  readonly chainStartAt: number;
  readonly phases: readonly Phase[];
  readonly walletsRetry: boolean;
  /** The addresses it comes from, in turn. */
  readonly addresses: readonly string[];
  /** So many keys of each operation are left to other generators. */
  readonly skip: number;
}

/** A line when a phase begins, and one when the last has ended. */
export interface Border {
  readonly phase: number;
  /** CPU time of the process up to then. */
  readonly cpuMs: number;
}

/** The last line. */
export interface LoadResult {
  readonly tallied: readonly Tallied[];
}

const NO_RATES = { hot: 0, pendingTraces: 1, adjacentTransactions: 0, masterchainBlockShards: 0 };

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
const { phases, walletsRetry } = order;
const random = new SeededRandom('overload');
const chain = chainOf(order.chainStartAt);
chain.advanceTo(Date.now());
const calls = new Calls(chain, random, order.skip);
const schedule = scheduleOf(phases, calls, random);
const connections = new Connections(order.port, order.addresses);
for (const call of HOT_CALLS) await warm(call);

const loop = new OpenLoop({
  connections,
  phases,
  schedule,
  walletsRetry,
  nextCall: (phase) => calls.next(phases[phase]?.rates ?? NO_RATES),
  onBorder: (phase) => {
    const { user, system } = process.cpuUsage();
    report({ phase, cpuMs: (user + system) / 1000 });
  },
});
report({ tallied: await loop.run() });
connections.close();

async function warm(call: Call): Promise<void> {
  const outcome = await new Promise<ReturnType<typeof outcomeOf>>((resolve) => {
    connections.ask(call.target, (heard) => resolve(outcomeOf(call, heard)));
  });
  if (outcome.kind !== 'right') throw new Error(`${call.target} was not answered: ${JSON.stringify(outcome)}`);
}

function report(line: Border | LoadResult): void {
  console.log(JSON.stringify(line));
}
