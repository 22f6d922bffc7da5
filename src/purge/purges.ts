import {
  type PurgeEvent,
  PurgeLog,
  type PurgeLogDependencies,
  type PurgeLogOptions,
  type PurgeOutcome,
} from './purge-log.ts';
import { type Purgeable, PurgeRecords, type PurgeRecordsDependencies } from './purge-records.ts';

/** A requested purge: its tag, and what the request named, for metrics and log. */
export interface AskedPurge {
  readonly selector: string;
  readonly value: number | string | true;
  readonly tag: string;
  readonly soft: boolean;
}

/** A purge that is dated further in the future than this, in milliseconds, was dated by a wrong clock. */
const LONGEST_WAIT_MS = 1000;

/** Timers may end a wait early, by a millisecond or two. */
const MOST_WAITS = 3;

export type PurgesDependencies = PurgeRecordsDependencies & Omit<PurgeLogDependencies, 'records'>;

/**
 * Purges by tag, kept as bans in the sense of Varnish: shared among instances, and applied to entries when they are
 * used.
 */
export class Purges {
  readonly #records: PurgeRecords;
  readonly #log: PurgeLog;
  readonly #report: (event: PurgeEvent) => void;
  readonly #now: () => number;

  constructor(dependencies: PurgesDependencies, options: PurgeLogOptions) {
    this.#records = new PurgeRecords(dependencies);
    this.#log = new PurgeLog({ ...dependencies, records: this.#records }, options);
    this.#report = dependencies.report;
    this.#now = dependencies.now;
  }

  /** See {@link PurgeRecords.epoch}: part of every key. */
  readonly epoch = (): number => this.#records.epoch;

  /** See {@link PurgeRecords.applyBans}. */
  readonly applyBans = <E extends Purgeable>(entry: E): E | undefined => this.#records.applyBans(entry);

  /** See {@link PurgeRecords.purgedUntil}. */
  readonly purgedUntil = (entry: Pick<Purgeable, 'key'>): number => this.#records.purgedUntil(entry);

  /** See {@link PurgeLog.isCurrent}. */
  get isCurrent(): boolean {
    return this.#log.isCurrent;
  }

  /**
   * Purges here at once, then everywhere. Resolves when this clock has passed the instant of the purge: what this process
   * asks for from then on is not covered, so it is stored without being asked for again. Never rejects.
   */
  readonly purge = async ({ selector, value, tag, soft }: AskedPurge): Promise<PurgeOutcome> => {
    const outcome = await this.#log.purge({ tag, soft });
    this.#report({ name: 'purged', selector, value, soft, notReached: outcome.notReached });
    await this.#untilPassed(outcome.at);
    return outcome;
  };

  /** To be called when Redis was connected or disconnected. */
  readonly onRedisTransition = ({ state }: { readonly state: 'connected' | 'disconnected' }): void => {
    if (state === 'connected') this.#log.onConnected();
    else this.#log.onDisconnected();
  };

  /** See {@link PurgeLog.onClockJump}. */
  onClockJump(): void {
    this.#log.onClockJump();
  }

  /** See {@link PurgeLog.ready}. */
  ready(limitMs: number): Promise<void> {
    return this.#log.ready(limitMs);
  }

  close(): void {
    this.#log.close();
  }

  async #untilPassed(at: number): Promise<void> {
    for (let waits = 0; waits < MOST_WAITS; waits++) {
      const aheadMs = at - this.#now();
      if (aheadMs < 0 || aheadMs > LONGEST_WAIT_MS) return;
      await new Promise((resolve) => setTimeout(resolve, Math.floor(aheadMs) + 1));
    }
  }
}
