import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import type { Tally } from './tally.ts';

/** What an attack is given. */
export interface Arena {
  /** All choices are made by this, so that a seed repeats them; what runs at the same time is not repeated. */
  readonly random: SeededRandom;
  readonly tally: Tally;
  readonly seconds: number;
  /** Called when the process under attack is ready: the time of the attack counts from here. */
  readonly begin: () => void;
  /** Whether the time of the attack is over. */
  readonly isOver: () => boolean;
}

/** One part of the program: starts a process, attacks it, and ends it. */
export interface Attack {
  readonly name: string;
  run(arena: Arena): Promise<void>;
}

/** Runs so many workers at once, each of which attacks again and again until the time is over. */
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
