import type { UpstreamAnswer, UpstreamRequest } from '../indexer/upstream-client.ts';
import { isObject } from '../json-object.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { masterchainBlockShards } from '../ton/operations/masterchain-block-shards.ts';
import { parseAnswer } from '../ton/parse-answer.ts';

/**
 * Rounds become visible out of order: a block that was named this long ago is there, if the indexer has blocks at all.
 */
const SETTLED_MS: Ms = 10_000;

/**
 * After a check that the indexer has passed, and after its first head, no block is remembered for this long. Together
 * with the time above: a check every 30 s.
 */
const REST_MS: Ms = 20_000;

/** A longer answer is not read, because that would block the event loop. A real answer has 5 KB. */
const LONGEST_BYTES = 256 * 1024;

/** The request for the block list of a masterchain block. */
export function blockQuestion(seqno: number): UpstreamRequest {
  return { operation: masterchainBlockShards.name, query: [['seqno', String(seqno)]], headers: [] };
}

/**
 * True if an answer to {@link blockQuestion} shows the block; `undefined` if that is unknown: a failure, or an answer
 * that is too long. Any 404 shows that the block is missing, also one of a gateway.
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
 * Decides when an indexer is asked for a block that it has named as its newest, and remembers whether it lacked one. A
 * replica without history also answers `masterchainInfo`, and a server that is not an indexer also answers 404: neither
 * shows that the indexer has blocks.
 */
export class HeadCheck {
  #named: { readonly seqno: number; readonly at: EpochMs } | undefined;
  /** The instant from which blocks are remembered; `undefined` before the first head. */
  #namedFrom: EpochMs | undefined;
  #isMissing = false;

  /** True if it lacked a block that it had named, and has not shown another one since. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /**
   * Takes the newest block that the indexer has just named. Returns the block to request now, which was named at least
   * 10 s ago. If the head has fallen back, earlier blocks do not count.
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

  /** Takes the result: whether the block is there; `undefined` if that is unknown. */
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
