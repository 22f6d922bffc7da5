import { LRUCache } from 'lru-cache';
import { cacheKey } from './cache-key.ts';
import type { Operation } from './operations.ts';
import { type Call, parseCall, type RequestHeaders } from './parse-call.ts';

/** A call with its key. */
export interface KeyedCall {
  readonly call: Call;
  readonly key: string;
}

/** At most this many spellings are remembered, each of at most so many characters: a few megabytes. */
const MAX_SPELLINGS = 10_000;
const MAX_LENGTH = 300;

/**
 * Parses requests, and remembers how the latest ones were spelled: parsing is a third of the CPU time of a memory hit
 * (`npm run bench`). A request with a header that changes the answer, or a long query, is parsed each time.
 */
export class CallMemo {
  readonly #network: string;
  readonly #epochNow: () => number;
  #epoch: number;
  readonly #calls = new LRUCache<string, KeyedCall>({ max: MAX_SPELLINGS });

  /** Network and epoch: part of every key. When the epoch changes, the keys that are remembered are of no use. */
  constructor(network: string, epoch: () => number) {
    this.#network = network;
    this.#epochNow = epoch;
    this.#epoch = epoch();
  }

  /** Throws what {@link parseCall} throws. */
  read(operation: Operation, rawQuery: string, headers: RequestHeaders): KeyedCall {
    this.#followEpoch();
    if (rawQuery.length > MAX_LENGTH || hasAny(headers, operation.headerNames)) {
      return this.#parse(operation, rawQuery, headers);
    }
    const spelling = `${operation.name}?${rawQuery}`;
    const known = this.#calls.get(spelling);
    if (known !== undefined) return known;
    // A part of a string keeps the whole alive, here the request's target of up to a whole head: what is kept is a copy.
    const own = Buffer.from(spelling).toString();
    const parsed = this.#parse(operation, own.slice(operation.name.length + 1), headers);
    this.#calls.set(own, parsed);
    return parsed;
  }

  #parse(operation: Operation, rawQuery: string, headers: RequestHeaders): KeyedCall {
    const call = parseCall(operation, rawQuery, headers);
    return { call, key: cacheKey(this.#network, this.#epoch, call) };
  }

  #followEpoch(): void {
    const epoch = this.#epochNow();
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#calls.clear();
  }
}

function hasAny(headers: RequestHeaders, names: ReadonlySet<string>): boolean {
  for (const name of names) if (headers[name] !== undefined) return true;
  return false;
}
