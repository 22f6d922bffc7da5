import { ProxyError } from '../errors.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { type ChainPoint, headIn } from '../ton/chain-point.ts';
import type { UpstreamClient } from './upstream-client.ts';

const QUESTION = { operation: 'masterchainInfo', query: [], headers: [] } as const;

/** On a big database the question can take 40 s, and such questions must not pile up. */
const TIMEOUT_MS = 5000;

/** The head is asked for at most once in this time. */
const ASK_EVERY_MS = 10_000;

/** Replicas behind one address differ: for so long a point that was shown counts, whatever the head is said to be. */
const SHOWN_HOLDS_MS = 60_000;

/** A chain time further ahead of our clock is garbage. */
const FURTHEST_AHEAD_MS = 60 * 60_000;

export interface IndexerHeadDependencies {
  readonly upstream: Pick<UpstreamClient, 'fetch'>;
  /** Takes the right to send one request beside the slots; `false` if none may be sent now. */
  readonly maySend: () => Promise<boolean>;
  /** Called with the time that a 429 asked for. */
  readonly onRateLimited: (retryAfterMs: Ms | undefined) => void;
  readonly now: () => EpochMs;
}

/**
 * The newest block that the indexer is known to have, and the chain time: the newest time that its chain has reached.
 * The age of transactions counts from it, because an indexer that catches up commits hour-old transactions now. If it
 * is older than the head, or unknown, lifetimes come out too short, but no answer is wrong. So nobody waits for it.
 *
 * Answers move both forward. A time that nothing has shown for 60 s is forgotten: the indexer may have been set back to
 * an older state. `masterchainInfo` then also moves the newest block back.
 */
export class IndexerHead {
  readonly #dependencies: IndexerHeadDependencies;
  #at = 0;
  #seqno = -1;
  /** When the indexer last showed a time that is not older than the known one. */
  #shownAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: IndexerHeadDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The chain time, epoch milliseconds; `undefined` if nothing has shown it in the last 60 s. Asks for the head in the
   * background, at most every 10 s.
   */
  chainTime(): number | undefined {
    const now = this.#dependencies.now();
    if (now - this.#askedAt >= ASK_EVERY_MS) void this.ask();
    return this.#isHeld(now) ? this.#at : undefined;
  }

  /** The highest block that it is known to have; -1 while none is known. */
  get seqno(): number {
    return this.#seqno;
  }

  /** Asks for the head now. Resolves with the seqno of the answer; `undefined` if there was none. Never rejects. */
  async ask(): Promise<number | undefined> {
    const { upstream, maySend, onRateLimited, now } = this.#dependencies;
    this.#askedAt = now();
    if (!(await maySend())) return undefined;
    try {
      const { status, body, retryAfterMs } = await upstream.fetch(QUESTION, TIMEOUT_MS);
      if (status === 429) onRateLimited(retryAfterMs);
      if (status !== 200) return undefined;
      const head = headIn(body);
      this.learn(head, true);
      return head.seqno < 0 ? undefined : head.seqno;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      return undefined;
    }
  }

  /** Learns the point that an answer shows; most are about old blocks. `isHead`: it was asked for the head itself. */
  learn({ at, seqno }: ChainPoint, isHead = false): void {
    const now = this.#dependencies.now();
    const isHeld = this.#isHeld(now);
    if (at > 0 && at <= now + FURTHEST_AHEAD_MS && (at >= this.#at || !isHeld)) {
      this.#at = at;
      this.#shownAt = now;
    }
    if (seqno > this.#seqno || (seqno >= 0 && isHead && !isHeld)) this.#seqno = seqno;
  }

  /** To be called when the clock has jumped: then no instant before it means anything. */
  forget(): void {
    this.#at = 0;
    this.#shownAt = Number.NEGATIVE_INFINITY;
    this.#askedAt = Number.NEGATIVE_INFINITY;
  }

  #isHeld(now: number): boolean {
    return now - this.#shownAt <= SHOWN_HOLDS_MS;
  }
}
