/** The rules by which a request is sent: whether it waits, the rate that it counts for, and the indexers that may get it. */
export interface SendRules {
  /** True if the request waits for a slot and a reservation of the rate. Refreshes and hedges do not wait. */
  readonly waits: boolean;
  /**
   * The rate that the request counts for: that of any indexer, or of the backups only. `none`: it is sent with its
   * client's own API key. Our rate limit, pauses and circuit breakers do not apply.
   */
  readonly rate: 'own' | 'backup' | 'none';
  /**
   * False if we have an API key and the request is sent without it. No backup gets such a request. Its answer shows
   * nothing about the limits of our key, so it neither begins nor ends a pause.
   */
  readonly isOurs: boolean;
  /** A second try gets a reservation of the rate only while no first try waits for one. */
  readonly isSecondTry: boolean;
  /**
   * The masterchain block that the request is about: while an indexer has it, no indexer without it gets the request.
   */
  readonly seqno?: number | undefined;
  /**
   * The place of an indexer that must not get it: it failed the request, paused its key, or has got the request
   * already.
   */
  readonly not?: number | undefined;
  /** The place of the only indexer that may get it. */
  readonly at?: number | undefined;
  /**
   * True for a hedge: a request in addition to another one, or one that checks a doubtful or regressed answer. It goes
   * only to an indexer that is healthy and not a backup. That indexer must have the block if the request is about one,
   * and otherwise be up to date.
   */
  readonly isExtra?: boolean;
}

/** The rules of a client's first request: it waits, uses any reservation, and may be sent to any indexer. */
export const FIRST_TRY: SendRules = { waits: true, rate: 'own', isOurs: true, isSecondTry: false };
