/** Which of several indexers a request may be sent to. */
export interface LaneTarget {
  /** The masterchain block that the request is about. An indexer that has the block is preferred. */
  readonly seqno?: number;
  /** The place of the indexer that failed the request or paused its key: another one gets it. */
  readonly not?: number;
  /** The place of the only indexer that it may be sent to. */
  readonly at?: number;
  /**
   * Whether the request is a hedge: sent beside another one, or to check a doubtful answer. Only an indexer may get it that
   * is healthy, up to date and no backup, and that has the block where it is about one.
   */
  readonly isHedge?: boolean;
}
