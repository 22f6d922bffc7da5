/** The chain that this process follows: that of its network, or the first one that an indexer names. */
export class FollowedChain {
  #globalId: number | undefined;

  /** `ofNetwork`: the `global_id` of the network; `undefined` if it is not known. */
  constructor(ofNetwork: number | undefined) {
    this.#globalId = ofNetwork;
  }

  /** True if an indexer's `global_id` is that of the followed chain. */
  readonly isOurs = (globalId: number): boolean => {
    this.#globalId ??= globalId;
    return globalId === this.#globalId;
  };
}
