import { setTimeout as sleep } from 'node:timers/promises';

/** What has been done so far. */
export interface Warmed {
  /** Blocks that toncache had stored already. */
  readonly hits: number;
  /** Blocks that it loaded from the indexer for this command. */
  readonly loaded: number;
  /** Blocks that the indexer does not have: 404. */
  readonly absent: number;
  /** Requests that toncache refused or failed, and that were sent again. */
  readonly retries: number;
  /** The lowest block that is left; `undefined` if all are done. */
  readonly next: number | undefined;
  /** Why the command gave up, if it did. */
  readonly failure?: string;
}

export interface WarmOptions {
  /** `http://host:port` of the public port. */
  readonly url: string;
  /** First and last block. */
  readonly from: number;
  readonly to: number;
  readonly perSecond: number;
  /** Aborted to stop. Requests under way are cancelled, and their blocks are left. */
  readonly signal: AbortSignal;
  readonly onAnswer: (warmed: Warmed) => void;
  /** Waits, and rejects on the signal. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** The most requests at once: more would be a burst to toncache, whatever the rate. */
const MOST_AT_ONCE = 16;

/** The command gives up after so many failures in a row. */
const MOST_FAILURES = 8;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Asks for every block once, in order, at a bounded rate. After a 503 or 429 all requests wait for `Retry-After`; after
 * another failure for 1 s, then twice as long each time. Never rejects: the result says why it stopped.
 */
export function warmBlocks(options: WarmOptions): Promise<Warmed> {
  return new Warming(options).run();
}

class Warming {
  readonly #options: WarmOptions;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly #giveUp = new AbortController();
  readonly #signal: AbortSignal;
  readonly #counts = { hits: 0, loaded: 0, absent: 0, retries: 0 };
  /** Blocks whose requests are under way. */
  readonly #underWay = new Set<number>();
  #nextSeqno: number;
  #nextSlotAt = performance.now();
  #failuresInARow = 0;
  #failure: string | undefined;
  #pause: Promise<unknown> | undefined;

  constructor(options: WarmOptions) {
    this.#options = options;
    this.#wait = options.wait ?? ((ms, signal) => sleep(ms, undefined, { signal }));
    this.#nextSeqno = options.from;
    this.#signal = AbortSignal.any([options.signal, this.#giveUp.signal]);
  }

  async run(): Promise<Warmed> {
    const { perSecond } = this.#options;
    const workers = Array.from({ length: Math.min(MOST_AT_ONCE, perSecond) }, () => this.#work());
    await Promise.all(workers);
    return this.#warmed();
  }

  async #work(): Promise<void> {
    while (this.#nextSeqno <= this.#options.to && !this.#signal.aborted) {
      const seqno = this.#nextSeqno++;
      this.#underWay.add(seqno);
      try {
        await this.#untilAnswered(seqno);
      } catch {
        return; // Stopped: the block stays under way, and is the first that is left.
      }
      this.#underWay.delete(seqno);
      this.#options.onAnswer(this.#warmed());
    }
  }

  async #untilAnswered(seqno: number): Promise<void> {
    for (;;) {
      await this.#pause;
      await this.#slot();
      const waitMs = await this.#ask(seqno);
      if (waitMs === undefined) return;
      this.#counts.retries++;
      this.#pause ??= this.#wait(waitMs, this.#signal).finally(() => {
        this.#pause = undefined;
      });
    }
  }

  /** Resolves when the next request may be sent. */
  async #slot(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#nextSlotAt);
    this.#nextSlotAt = at + 1000 / this.#options.perSecond;
    if (at > now) await this.#wait(at - now, this.#signal);
    this.#signal.throwIfAborted();
  }

  /** Counts an answer. Returns the milliseconds to wait before the block is asked for again. */
  async #ask(seqno: number): Promise<number | undefined> {
    const url = `${this.#options.url}/api/v3/masterchainBlockShards?seqno=${seqno}`;
    let response: Response;
    try {
      response = await fetch(url, { signal: this.#signal });
      await response.arrayBuffer();
    } catch (error) {
      this.#signal.throwIfAborted();
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      return this.#failed(`no toncache answers at ${this.#options.url} (${cause}): start it, or name it by --url`);
    }
    const { status, headers } = response;
    if (status === 503 || status === 429) return 1000 * (Number(headers.get('retry-after')) || 1);
    if (status !== 200 && status !== 404) return this.#failed(`${this.#options.url} answers ${status}`);
    this.#failuresInARow = 0;
    if (status === 404) this.#counts.absent++;
    else if (/^toncache; hit\b/.test(headers.get('cache-status') ?? '')) this.#counts.hits++;
    else this.#counts.loaded++;
    return undefined;
  }

  #failed(failure: string): number {
    if (++this.#failuresInARow >= MOST_FAILURES) {
      this.#failure = failure;
      this.#giveUp.abort();
    }
    return Math.min(FIRST_WAIT_MS * 2 ** (this.#failuresInARow - 1), LONGEST_WAIT_MS);
  }

  #warmed(): Warmed {
    const next = Math.min(this.#nextSeqno, ...this.#underWay);
    return {
      ...this.#counts,
      next: next <= this.#options.to ? next : undefined,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    };
  }
}
