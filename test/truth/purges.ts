import type { Call } from './call.ts';
import type { Instance } from './instance.ts';

/** Every instance applies a purge within a second. */
const EVERYWHERE_MS = 1000;

const EVERY_MS = 300;

/** The part of an instance that purges need. */
type Purgeable = Pick<Instance, 'isKilled' | 'purge'>;

interface Purge {
  readonly at: number;
  readonly instance: Purgeable;
  /** When the instance confirmed the purge. Other instances are told only through Redis. */
  readonly doneAt: number;
  readonly isShared: boolean;
}

/** The purges of the checker, and their effect on later answers. Instants are epoch ms. */
export class Purges {
  readonly #byTag = new Map<string, Purge[]>();
  /** When the last purge of a tag began, whether it succeeded or not. */
  readonly #begunAt = new Map<string, number>();
  #lastAt = 0;

  /** Purges the tags of a call, unless another call has done so a moment ago. False if no purge was confirmed. */
  async purge(call: Call, instance: Purgeable): Promise<boolean> {
    const at = Date.now();
    const [tag] = tagsOf(call);
    if (tag === undefined || at - this.#lastAt < EVERY_MS) return false;
    this.#lastAt = at;
    const [selector = '', value = ''] = tag;
    this.#begunAt.set(String(tag), at);
    const reached = await instance.purge({ [selector]: value });
    if (instance.isKilled || reached === 'nowhere') return false;
    const purges = this.#byTag.get(String(tag)) ?? [];
    purges.push({ at, instance, doneAt: Date.now(), isShared: reached === 'everywhere' });
    this.#byTag.set(String(tag), purges);
    return true;
  }

  /**
   * True if a purge may have deleted the answer that a client got at this instant. Then the cache has nothing to
   * compare the answer of a lagging replica with.
   */
  mayHaveDeleted(call: Call, answeredAt: number, machineDelayMs: number): boolean {
    const begunAt = tagsOf(call).map((tag) => this.#begunAt.get(String(tag)) ?? Number.NEGATIVE_INFINITY);
    return answeredAt <= Math.max(Number.NEGATIVE_INFINITY, ...begunAt) + EVERYWHERE_MS + machineDelayMs;
  }

  /** An answer that was true only before this instant must not come from an instance any more. */
  notBefore(call: Call, instance: Purgeable, sentAt: number, isCutOff: boolean, machineDelayMs: number): number {
    const purges = tagsOf(call).flatMap((tag) => this.#byTag.get(String(tag)) ?? []);
    const known = purges.filter((purge) =>
      purge.instance === instance
        ? purge.doneAt <= sentAt
        : purge.isShared && !isCutOff && purge.doneAt + EVERYWHERE_MS + machineDelayMs <= sentAt,
    );
    return Math.max(Number.NEGATIVE_INFINITY, ...known.map(({ at }) => at));
  }
}

function tagsOf({ accounts = [], owner, hashes = [] }: Call): readonly (readonly [selector: string, value: string])[] {
  return [
    ...[...accounts, ...(owner === undefined ? [] : [owner])].map(({ address }) => ['account', address] as const),
    ...hashes.map((hash) => ['hash', hash] as const),
  ];
}
