/** Which of several indexers may get a request. */
export interface LaneTarget {
  /** The masterchain block that the request is about. Indexers that have the block are preferred. */
  readonly seqno?: number;
  /**
   * The place of an indexer that must not get it: it failed the request, paused its key, or has got the request
   * already.
   */
  readonly not?: number;
  /** The place of the only indexer that may get it. */
  readonly at?: number;
  /**
   * True for a hedge: a request in addition to another one, or one that checks a doubtful or regressed answer. It goes
   * only to an indexer that is healthy and not a backup. That indexer must have the block if the request is about one,
   * and otherwise be up to date.
   */
  readonly isHedge?: boolean;
}
