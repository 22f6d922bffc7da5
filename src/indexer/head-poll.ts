import { ProxyError } from '../errors.ts';
import { isObject } from '../json-object.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { type ChainHead, headIn } from '../ton/chain-point.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { parseAnswer } from '../ton/parse-answer.ts';
import type { UpstreamAnswer, UpstreamClient, UpstreamRequest } from './upstream-client.ts';

const HEAD_QUESTION: UpstreamRequest = { operation: 'masterchainInfo', query: [], headers: [], isForHead: true };

/** On a big database a head poll can take 40 s, and head polls must not pile up. */
const TIMEOUT_MS: Ms = 5000;

/** A longer answer is not read, because that would block the event loop. A real answer has 5 KB. */
const LONGEST_BYTES = 256 * 1024;

/** An indexer that has not answered a head poll for this long is unresponsive. */
const UNRESPONSIVE_AFTER_MS: Ms = 1000;

export interface HeadPollDependencies {
  readonly upstream: Pick<UpstreamClient, 'fetch'>;
  /** Takes the right to send one request without a slot; `false` if none may be sent now. */
  readonly maySend: () => Promise<boolean>;
  /** Called with the `Retry-After` of a 429. */
  readonly onRateLimited: (retryAfterMs: Ms | undefined) => void;
  /** Called with each answer to a head poll: its status if it names no head, `undefined` if it names one. */
  readonly onPolled: (unnamedBy: number | undefined) => void;
  readonly now: () => EpochMs;
}

/** Polls the head of one indexer, and requests blocks, without slots. Knows since when the indexer has not answered. */
export class HeadPoll {
  readonly #dependencies: HeadPollDependencies;
  #polledAt: EpochMs = Number.NEGATIVE_INFINITY;
  #unansweredSince: EpochMs | undefined;

  constructor(dependencies: HeadPollDependencies) {
    this.#dependencies = dependencies;
  }

  /** True if the last poll, and the last accepted head, are at least this old. */
  isDue(everyMs: Ms): boolean {
    return this.#dependencies.now() - this.#polledAt >= everyMs;
  }

  /** True if head polls fail, or the last one has had no answer for a second. */
  get isUnresponsive(): boolean {
    const since = this.#unansweredSince;
    return since !== undefined && this.#dependencies.now() - since > UNRESPONSIVE_AFTER_MS;
  }

  /** Call when the indexer has named a head, in any request. */
  answered(): void {
    this.#unansweredSince = undefined;
  }

  /** Call when its head was accepted: the next poll is due later. */
  accepted(): void {
    this.#polledAt = this.#dependencies.now();
  }

  /** The head of the indexer; `undefined` without an answer, or if no request may be sent now. Never rejects. */
  async head(atMostMs: Ms = TIMEOUT_MS): Promise<ChainHead | undefined> {
    const { now, maySend, onPolled } = this.#dependencies;
    this.#polledAt = now();
    if (!(await maySend())) return undefined;
    const unansweredSince = this.#unansweredSince;
    this.#unansweredSince ??= now();
    const answer = await this.#send(HEAD_QUESTION, atMostMs);
    if (answer === 'not sent') this.#unansweredSince = unansweredSince;
    if (answer === 'not sent' || answer === undefined) return undefined;
    const head = answer.status === 200 ? headIn(answer.body) : undefined;
    onPolled(head !== undefined && head.seqno >= 0 ? undefined : answer.status);
    return head;
  }

  /**
   * True if it shows the block list of a masterchain block; `undefined` if that is unknown: a failure, or an answer that
   * is too long. Any 404 shows that the block is missing, also one of a gateway. Never rejects.
   */
  async hasBlock(seqno: number): Promise<boolean | undefined> {
    if (!(await this.#dependencies.maySend())) return undefined;
    const { name: operation, chainPoint } = masterchainBlockShards;
    const answer = await this.#send({ operation, query: [['seqno', String(seqno)]], headers: [] });
    if (answer === 'not sent' || answer === undefined) return undefined;
    const { status, body } = answer;
    if (status === 404) return false;
    if (status !== 200 || body.length > LONGEST_BYTES) return undefined;
    const list = parseAnswer(body);
    return isObject(list) && chainPoint(list).seqno === seqno;
  }

  /** Call when the clock has jumped. */
  forget(): void {
    this.#polledAt = Number.NEGATIVE_INFINITY;
    this.#unansweredSince = undefined;
  }

  /** `undefined` without an answer; `not sent` if this machine lacks the resources to send it. Never rejects. */
  async #send(question: UpstreamRequest, atMostMs = TIMEOUT_MS): Promise<UpstreamAnswer | 'not sent' | undefined> {
    const { upstream, onRateLimited } = this.#dependencies;
    try {
      const answer = await upstream.fetch(question, atMostMs);
      if (answer.status === 429) onRateLimited(answer.retryAfterMs);
      return answer;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      return error.code === 'overloaded' ? 'not sent' : undefined;
    }
  }
}
