/** Which of several indexers a request may be sent to. */
export interface LaneTarget {
  /** The masterchain block that it is about: it is sent to an indexer that has it, if there is one. */
  readonly seqno?: number;
  /** The place of the indexer that has failed it, or paused its key: it is sent to another one. */
  readonly not?: number;
  /** The place of the only indexer that it may be sent to. */
  readonly at?: number;
  /**
   * Whether it is sent beside an answer that may come, or is doubtful: only an indexer that is well, up to date and no
   * backup may be asked, of a block one that has it.
   */
  readonly isHedge?: boolean;
}
