import { type Excuses, type Fault, LASTS_MS } from './fault.ts';
import { ALWAYS_LAGS_MS, type World } from './world.ts';

const LEAD_IN_MS = 2000;
export const REST_MS = 2500;

interface Episode {
  readonly fault: Fault;
  readonly fromAt: number;
  untilAt: number;
}

/** Starts the faults of a world one after the other, in a cycle, and knows what they excuse. */
export class FaultCycle {
  readonly #world: World;
  readonly #faults: readonly Fault[];
  readonly #report: (line: string) => void;
  readonly #episodes: Episode[] = [];

  constructor(world: World, faults: readonly Fault[], report: (line: string) => void) {
    this.#world = world;
    this.#faults = faults;
    this.#report = report;
  }

  /** Goes on until `pause` says that the run is over. The last fault has ended then. */
  async run(pause: (ms: number) => Promise<boolean>): Promise<void> {
    let goesOn = this.#faults.length > 0 && (await pause(LEAD_IN_MS));
    for (let round = 0; goesOn; round++) {
      const fault = this.#faults[round % this.#faults.length];
      if (fault === undefined) return;
      const episode = { fault, fromAt: Date.now(), untilAt: Number.POSITIVE_INFINITY };
      this.#episodes.push(episode);
      this.#report(`${fault.name} begins`);
      const end = await fault.begin(this.#world);
      goesOn = await pause(fault.lastsMs ?? LASTS_MS);
      await end();
      episode.untilAt = Date.now();
      this.#report(`${fault.name} has ended`);
      goesOn &&= await pause(fault.restMs ?? REST_MS);
    }
  }

  /** The beginning and end of each fault, epoch ms. */
  get ended(): readonly { readonly fromAt: number; readonly untilAt: number }[] {
    return this.#episodes.filter(({ untilAt }) => untilAt < Number.POSITIVE_INFINITY);
  }

  /**
   * The excuses of the faults that were active between two instants (epoch ms), or whose effects had not settled by
   * then.
   */
  excusesBetween(from: number, to: number): Excuses {
    const during = this.#episodes.filter(
      ({ fault, fromAt, untilAt }) => fromAt <= to && untilAt + (fault.settlesMs ?? 0) >= from,
    );
    const always: Excuses = this.#world.indexers.length > 1 ? { databaseLagMs: ALWAYS_LAGS_MS } : {};
    return Object.assign({}, always, ...during.map(({ fault }) => fault.excuses));
  }
}
