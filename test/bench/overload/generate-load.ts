import { SeededRandom } from '../../../src/tools/simulator/seeded-random.ts';
import { type Call, Calls, chainOf, HOT_CALLS } from './calls.ts';
import { Connections, type Identity } from './connections.ts';
import { OpenLoop } from './open-loop.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { type Phase, scheduleOf } from './schedule.ts';
import type { Tallied } from './tally.ts';

// A process: warms the hot keys, and then offers a load in phases. The load is the same every time.

/** The argument, as JSON. */
export interface LoadOrder {
  readonly port: number;
  /** Of the chain that is asked about, epoch ms. */
  readonly chainStartAt: number;
  readonly phases: readonly Phase[];
  readonly retries: boolean;
  /** The addresses it comes from, in turn. */
  readonly addresses: readonly string[];
  readonly identity: Identity;
  /** So many keys of each operation are left to other generators. */
  readonly skip: number;
}

/** The line that it prints when all has ended: the last two phases. */
export interface LoadResult {
  readonly load: Tallied;
  readonly after: Tallied;
}

const order: LoadOrder = JSON.parse(process.argv[2] ?? '');
const { phases, retries } = order;
const random = new SeededRandom('overload');
const chain = chainOf(order.chainStartAt);
chain.advanceTo(Date.now());
const calls = new Calls(chain, random, order.skip);
const schedule = scheduleOf(phases, calls, random);
const connections = new Connections(order.port, order.addresses, order.identity);
for (const call of HOT_CALLS) await warm(call);

const loop = new OpenLoop({ connections, phases, schedule, retries, nextCall: ({ rates }) => calls.next(rates) });
const [load, after] = (await loop.run()).slice(-2);
console.log(JSON.stringify({ load, after }));
connections.close();

async function warm(call: Call): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  connections.ask(call.target, (heard) => resolve(outcomeOf(call, heard)));
  const outcome = await promise;
  if (outcome.kind !== 'right') throw new Error(`${call.target} was not answered: ${JSON.stringify(outcome)}`);
}
