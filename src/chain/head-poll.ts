import { ProxyError } from '../errors.ts';
import type { UpstreamAnswer, UpstreamClient, UpstreamRequest } from '../indexer/upstream-client.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { type ChainHead, headIn } from '../ton/chain-point.ts';
import { blockQuestion, showsBlock } from './head-check.ts';

const HEAD_QUESTION: UpstreamRequest = { operation: 'masterchainInfo', query: [], headers: [], isForHead: true };

/** On a big database a head poll can take 40 s, and head polls must not pile up. */
const TIMEOUT_MS: Ms = 5000;

/** An indexer that has not answered a head poll for this long is unresponsive. */
const UNRESPONSIVE_AFTER_MS: Ms = 1000;

export interface HeadPollDependencies {
  readonly upstream: Pick<UpstreamClient, 'fetch'>;
  /** Takes the right to send one request beside the slots; `false` if none may be sent now. */
  readonly maySend: () => Promise<boolean>;
  /** Called with the time that a 429 asked for. */
  readonly onRateLimited: (retryAfterMs: Ms | undefined) => void;
  readonly now: () => EpochMs;
}

/** Asks one indexer for its head and for blocks, beside the slots, and knows since when it has not answered. */
export class HeadPoll {
  readonly #dependencies: HeadPollDependencies;
  #polledAt: EpochMs = Number.NEGATIVE_INFINITY;
  #unansweredSince: EpochMs | undefined;

  constructor(dependencies: HeadPollDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether the last head is older than this. */
  isDue(everyMs: Ms): boolean {
    return this.#dependencies.now() - this.#polledAt >= everyMs;
  }

  /** Whether head polls fail, or the last one has had no answer for a second. */
  get isUnresponsive(): boolean {
    const since = this.#unansweredSince;
    return since !== undefined && this.#dependencies.now() - since > UNRESPONSIVE_AFTER_MS;
  }

  /** Call when the indexer has named a head, to whoever asked for it. */
  answered(): void {
    this.#unansweredSince = undefined;
  }

  /** Call when the head that it named was accepted: it need not be asked for again so soon. */
  accepted(): void {
    this.#polledAt = this.#dependencies.now();
  }

  /** The head that it names; `undefined` if it may not be asked now, or there is no answer. Never rejects. */
  async head(): Promise<ChainHead | undefined> {
    const { now, maySend } = this.#dependencies;
    this.#polledAt = now();
    if (!(await maySend())) return undefined;
    const unansweredSince = this.#unansweredSince;
    this.#unansweredSince ??= now();
    const answer = await this.#send(HEAD_QUESTION);
    if (answer === 'not sent') this.#unansweredSince = unansweredSince;
    return answer === 'not sent' || answer?.status !== 200 ? undefined : headIn(answer.body);
  }

  /** Whether it shows a block; `undefined` if that is not known: see {@link showsBlock}. Never rejects. */
  async hasBlock(seqno: number): Promise<boolean | undefined> {
    const answer = (await this.#dependencies.maySend()) ? await this.#send(blockQuestion(seqno)) : undefined;
    return answer === 'not sent' || answer === undefined ? undefined : showsBlock(answer, seqno);
  }

  /** Call when the clock has jumped. */
  forget(): void {
    this.#polledAt = Number.NEGATIVE_INFINITY;
    this.#unansweredSince = undefined;
  }

  /** `undefined` if there is no answer; `not sent` if this machine lacks what it takes to send it. Never rejects. */
  async #send(question: UpstreamRequest): Promise<UpstreamAnswer | 'not sent' | undefined> {
    const { upstream, onRateLimited } = this.#dependencies;
    try {
      const answer = await upstream.fetch(question, TIMEOUT_MS);
      if (answer.status === 429) onRateLimited(answer.retryAfterMs);
      return answer;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      return error.code === 'overloaded' ? 'not sent' : undefined;
    }
  }
}
