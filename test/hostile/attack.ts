import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import type { Tally } from './tally.ts';

/** The input of an attack. */
export interface Arena {
  /** The source of all choices, so that a seed repeats them. The order of concurrent steps is not repeated. */
  readonly random: SeededRandom;
  readonly tally: Tally;
  readonly seconds: number;
  /** Call it when the process under attack is ready: the time of the attack counts from then. */
  readonly begin: () => void;
  /** True when the time of the attack is over. */
  readonly isOver: () => boolean;
}

/** The attack on one part of the program: starts a process, attacks it, and ends it. */
export interface Attack {
  readonly name: string;
  run(arena: Arena): Promise<void>;
}

/** Runs this many workers at once. Each attacks again and again until the time is over. */
export async function attackUntilOver(
  { isOver }: Arena,
  workers: number,
  attack: (worker: number) => Promise<void>,
): Promise<void> {
  const work = async (worker: number) => {
    while (!isOver()) await attack(worker);
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
}
