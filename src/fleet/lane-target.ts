/** Which of several indexers may get a request. */
export interface LaneTarget {
  /** The masterchain block that the request is about. Indexers that have the block are preferred. */
  readonly seqno?: number;
  /** The place of an indexer that failed the request or paused its key: another indexer gets it. */
  readonly not?: number;
  /** The place of the only indexer that may get it. */
  readonly at?: number;
  /**
   * True for a hedge: a request in addition to another one, or one that checks a doubtful answer. It goes only to an
   * indexer that is healthy, up to date and not a backup, and that has the block if the request is about one.
   */
  readonly isHedge?: boolean;
}
