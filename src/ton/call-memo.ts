import { LRUCache } from 'lru-cache';
import { cacheKey } from './cache-key.ts';
import { type Operation, withoutAlias } from './operations.ts';
import { type Call, hasHeaderOf, parseCall, type RequestHeaders } from './parse-call.ts';

export interface KeyedCall {
  readonly call: Call;
  readonly key: string;
  /** For {@link CallMemo.remember}; `undefined` if the spelling is already remembered, or cannot be. */
  readonly unknownSpelling: string | undefined;
}

/** The maximum number of remembered spellings, and of characters in each: a few megabytes. */
const MAX_SPELLINGS = 10_000;
const MAX_LENGTH = 300;

/**
 * Parses requests and remembers the spellings of those that the cache answered: parsing is a third of the CPU time of a
 * hit in memory. Misses are not remembered, so a scan over new keys evicts nothing. A request with a header that
 * changes the answer, with a long query, or with a body is parsed each time.
 */
export class CallMemo {
  readonly #network: string;
  readonly #calls = new LRUCache<string, KeyedCall>({ max: MAX_SPELLINGS });

  /** The network is part of every key. */
  constructor(network: string) {
    this.#network = network;
  }

  /** Throws what {@link parseCall} throws. */
  read(operation: Operation, rawQuery: string, headers: RequestHeaders, body?: Buffer): KeyedCall {
    if (rawQuery.length > MAX_LENGTH || hasHeaderOf(operation, headers) || operation.body !== undefined)
      return this.#keyed(parseCall(operation, rawQuery, headers, body));
    const spelling = `${operation.name}?${rawQuery}`;
    return this.#calls.get(spelling) ?? this.#keyed(parseCall(operation, rawQuery, headers), spelling);
  }

  /**
   * The call of a remembered spelling (`operation?query`, with the operation's name or an alias), for a request without
   * headers that change the answer.
   */
  recall(spelling: string): KeyedCall | undefined {
    const known = this.#calls.get(spelling);
    if (known !== undefined) return known;
    const named = withoutAlias(spelling);
    return named === undefined ? undefined : this.#calls.get(named);
  }

  /** Remembers the spelling of a call. Call when the cache answered it. */
  remember({ call: { operation }, unknownSpelling }: KeyedCall): void {
    if (unknownSpelling === undefined) return;
    // Parse again from the spelling, which is a separate string: substrings of the request's target would keep the
    // whole target in memory.
    const parsed = parseCall(operation, unknownSpelling.slice(operation.name.length + 1), {});
    this.#calls.set(unknownSpelling, this.#keyed(parsed));
  }

  #keyed(call: Call, unknownSpelling?: string): KeyedCall {
    return { call, key: cacheKey(this.#network, call), unknownSpelling };
  }
}
