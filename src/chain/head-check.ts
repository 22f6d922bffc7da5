import type { UpstreamAnswer, UpstreamRequest } from '../indexer/upstream-client.ts';
import { isObject } from '../json-object.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { parseAnswer } from '../ton/parse-answer.ts';

/** Rounds become visible out of order: a block that was named this long ago is there, if the indexer has blocks at all. */
const SETTLED_MS: Ms = 10_000;

/** No block is remembered for this long after one was found, or the first look. With the time above: a check each 30 s. */
const REST_MS: Ms = 20_000;

/** A longer answer is not read, because that would hold up the event loop. The real one has 5 KB. */
const LONGEST_BYTES = 256 * 1024;

/** The question for the list of a masterchain block. */
export function blockQuestion(seqno: number): UpstreamRequest {
  return { operation: masterchainBlockShards.name, query: [['seqno', String(seqno)]], headers: [] };
}

/**
 * Whether an answer to {@link blockQuestion} shows the block; `undefined` where that is not known: a failure, or an answer
 * that is too long. Any 404 shows that it is missing, also that of a gateway.
 */
export function showsBlock(
  { status, body }: Pick<UpstreamAnswer, 'status' | 'body'>,
  seqno: number,
): boolean | undefined {
  if (status === 404) return false;
  if (status !== 200 || body.length > LONGEST_BYTES) return undefined;
  const answer = parseAnswer(body);
  return isObject(answer) && masterchainBlockShards.chainPoint(answer).seqno === seqno;
}

/**
 * When an indexer is asked for a block that it has named as its newest, and whether it lacked one. `masterchainInfo` alone
 * could come from a replica without history, and a 404 from anybody.
 */
export class HeadCheck {
  #named: { readonly seqno: number; readonly at: EpochMs } | undefined;
  /** From when on a block is remembered; `undefined` before the first look. */
  #namedFrom: EpochMs | undefined;
  #isMissing = false;

  /** Whether it lacked a block that it had named, and has not shown another one since. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /**
   * Takes the newest block that the indexer has just named. Returns the one to ask for now, which was named at least 10 s
   * ago. Where the head falls back, what was named before says nothing.
   */
  named(seqno: number, now: EpochMs): number | undefined {
    this.#namedFrom ??= now + REST_MS;
    const named = this.#named;
    if (named === undefined ? now >= this.#namedFrom : seqno < named.seqno) {
      this.#named = { seqno, at: now };
      return undefined;
    }
    if (named === undefined || now - named.at < SETTLED_MS) return undefined;
    this.#named = undefined;
    return named.seqno;
  }

  /** Takes what came of it: whether the block is there; `undefined` if that is not known. */
  ended(isThere: boolean | undefined, now: EpochMs): void {
    if (isThere !== undefined) this.#isMissing = !isThere;
    this.#named = undefined;
    this.#namedFrom = isThere === true ? now + REST_MS : now;
  }

  /** Call when the clock has jumped. */
  forget(): void {
    this.#named = undefined;
    this.#namedFrom = undefined;
  }
}
