/**
 * The chain that this process follows: the first one that an indexer names. If the network has a known chain, that one
 * replaces it, so that the order of answers does not matter.
 */
export class FollowedChain {
  readonly #ofNetwork: number | undefined;
  #followed: number | undefined;

  /** `ofNetwork`: the `global_id` of the network, if it is known. */
  constructor(ofNetwork: number | undefined) {
    this.#ofNetwork = ofNetwork;
  }

  /** True if an indexer's `global_id` is that of the followed chain. */
  readonly isOurs = (globalId: number): boolean => {
    if (this.#followed === undefined || globalId === this.#ofNetwork) this.#followed = globalId;
    return globalId === this.#followed;
  };
}
