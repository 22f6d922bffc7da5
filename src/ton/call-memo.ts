import { LRUCache } from 'lru-cache';
import { cacheKey } from './cache-key.ts';
import type { Operation } from './operations.ts';
import { type Call, parseCall, type RequestHeaders } from './parse-call.ts';

/** A call with its key. */
export interface KeyedCall {
  readonly call: Call;
  readonly key: string;
  /** For {@link CallMemo.remember}; nothing when it is remembered already, or cannot be. */
  readonly unknownSpelling: string | undefined;
}

/** At most this many spellings are remembered, each of at most so many characters: a few megabytes. */
const MAX_SPELLINGS = 10_000;
const MAX_LENGTH = 300;

/**
 * Parses requests, and remembers how those were spelled that were hits: parsing is a third of the CPU time of a hit in
 * memory (`npm run bench`), and a small part of a miss. So whoever asks for ever other keys makes it forget nothing. A request with a header that changes the answer, or a long query, is parsed each time.
 */
export class CallMemo {
  readonly #network: string;
  readonly #epochNow: () => number;
  #epoch: number;
  readonly #calls = new LRUCache<string, KeyedCall>({ max: MAX_SPELLINGS });

  /** Network and epoch: part of every key. When the epoch changes, the keys that are remembered are of no use. */
  constructor(epoch: () => number, network: string) {
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
    return this.#calls.get(spelling) ?? this.#parse(operation, rawQuery, headers, spelling);
  }

  /** The call of a spelling (`operation?query`) that was remembered and asked for without headers that change the answer. */
  recall(spelling: string): KeyedCall | undefined {
    this.#followEpoch();
    return this.#calls.get(spelling);
  }

  /** To be called with a call that is worth it. */
  remember({ call: { operation }, unknownSpelling }: KeyedCall): void {
    if (unknownSpelling === undefined) return;
    // Parsed again from the spelling, a string of its own: parts of the request's target would keep the whole of it alive.
    const parsed = this.#parse(operation, unknownSpelling.slice(operation.name.length + 1), {});
    this.#calls.set(unknownSpelling, parsed);
  }

  #parse(operation: Operation, rawQuery: string, headers: RequestHeaders, unknownSpelling?: string): KeyedCall {
    const call = parseCall(operation, rawQuery, headers);
    return { call, key: cacheKey(this.#network, this.#epoch, call), unknownSpelling };
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
