/**
 * Which chain this process follows: the first one that an indexer names. That of the network, where it has a known one,
 * takes its place, so that it does not count who answered first.
 */
export class FollowedChain {
  readonly #ofNetwork: number | undefined;
  #followed: number | undefined;

  /** `ofNetwork`: the `global_id` of the network, where it is known. */
  constructor(ofNetwork: number | undefined) {
    this.#ofNetwork = ofNetwork;
  }

  /** Whether it is that of this `global_id`, which an indexer named. */
  readonly isOurs = (globalId: number): boolean => {
    if (this.#followed === undefined || globalId === this.#ofNetwork) this.#followed = globalId;
    return globalId === this.#followed;
  };

  /** Whether a `global_id` that another instance was told is certainly that of another chain. */
  isOther(globalId: number | undefined): boolean {
    if (globalId === undefined || globalId === this.#ofNetwork) return false;
    return this.#followed !== undefined && globalId !== this.#followed;
  }
}
