import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { Checker } from './checker.ts';
import { CROWD } from './clients.ts';
import type { Fault } from './fault.ts';
import { FaultCycle } from './fault-cycle.ts';
import { MachineDelay } from './machine-delay.ts';
import { Purges } from './purges.ts';
import { States } from './states.ts';
import type { Finding, Tally } from './tally.ts';
import { World, type WorldOptions } from './world.ts';

export interface RunOptions extends WorldOptions {
  /** The faults of the world, in a cycle. */
  readonly faults: readonly Fault[];
  readonly tally: Tally;
  /** Called with a description of each event. */
  readonly report: (line: string) => void;
  /**
   * True for only those clients that poll an account or an owner. All others show the newest blocks, and until these are
   * settled no answer about an owner is proven.
   */
  readonly pollsOnly?: boolean;
  /** The first finding of this kind ends the run. */
  readonly endsAt?: Finding['kind'];
}

/** Runs all clients for the duration. Findings are in the tally; rejects if the run itself fails. */
export async function runChecker(options: RunOptions): Promise<void> {
  const { faults, tally, report, forMs, seed, dialect } = options;
  await using world = await World.start(options);
  using machine = new MachineDelay(() =>
    Promise.all(world.instances.filter(({ isKilled }) => !isKilled).map((instance) => instance.probe())),
  );
  const overAt = performance.now() + forMs;
  const isFound = () => options.endsAt !== undefined && tally.of(options.endsAt) > 0;
  const broken = new AbortController();
  const goesOn = () => performance.now() < overAt && !broken.signal.aborted && !isFound();
  const pauseBetweenFaults = async (ms: number) => {
    for (const until = performance.now() + ms; goesOn() && performance.now() < until; ) await delay(50);
    return goesOn();
  };
  const cycle = new FaultCycle(world, faults, report);
  const shared = {
    world,
    states: new States(world.chain, dialect),
    faults: cycle,
    purges: new Purges(),
    machine,
    tally,
  };
  const crowd = CROWD.filter(({ polls }) => polls === true || options.pollsOnly !== true);
  const habits = crowd.flatMap(({ habit, count }) => Array.from({ length: count }, () => habit));
  const atWork = habits.map(async (habit, place) => {
    const random = new SeededRandom(seed, 'client', place);
    const checker = new Checker(shared, place, random);
    const pause = async (ms: number) => void (await delay(ms * (0.75 + random.next() / 2)));
    // Some look at the data of the database, which lacks the newest blocks after a fall.
    const now = random.chance(0.5) ? Date.now : () => world.databaseAt;
    await habit({ chain: () => world.chain, now, random, ask: (call) => checker.ask(call), goesOn, pause });
  });
  // A failure of one client ends the run.
  await Promise.all([cycle.run(pauseBetweenFaults), ...atWork]).finally(() => broken.abort());
  // The last fault has just ended.
  for (const { fromAt, untilAt } of cycle.ended.slice(0, -1)) tally.faultLasted(fromAt, untilAt);
  for (const { requests } of world.indexers) tally.addUpstream(requests);
  for (const instance of world.instances) {
    if (!instance.isKilled) tally.addOlderAnswers(await instance.olderAnswers());
  }
}
