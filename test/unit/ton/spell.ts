import fc from 'fast-check';
import { addressSpellings, hashSpellings } from '../../../src/simulator/spellings.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import type { Meaning } from './meaning.ts';

/** A request as some client wrote it. */
export interface Spelled {
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
}

const NOISE = ['_=1700000000000', 'include_actions=true', 'api_key=secret', 'x_timeout=1', 'junk', '=', '', 'x[]=%41'];
const FOREIGN_HEADERS: RequestHeaders = { cookie: 'a=b', 'x-api-key': 'secret', 'x-timeout': '1', accept: '*/*' };
const YES = ['true', 'True', 'TRUE', '1', 't', 'T'];
const NO = ['false', 'False', '0', 'f'];

/** Spells a meaning at random, as clients do: `gen` of fast-check makes every choice, so that a failure is repeated. */
export function spell(meaning: Meaning, gen: fc.GeneratorValue): Spelled {
  return new Speller(gen).spell(meaning);
}

class Speller {
  readonly #gen: fc.GeneratorValue;
  readonly #pieces: string[] = [];
  readonly #headers: Record<string, string> = {};

  constructor(gen: fc.GeneratorValue) {
    this.#gen = gen;
  }

  spell(meaning: Meaning): Spelled {
    switch (meaning.operation) {
      case 'pendingTraces':
        for (const account of meaning.accounts) {
          const spelling = this.#pick(Object.values(addressSpellings(account)));
          this.#pieces.push(this.#piece('account', this.#plusLost(spelling)));
        }
        this.#hashSet(meaning.extMsgHashes);
        this.#actions(meaning.actions);
        this.#flag('x_no_address_book', meaning.noAddressBook);
        this.#flag('x_no_metadata', meaning.noMetadata);
        break;
      case 'adjacentTransactions':
        this.#scalar('hash', this.#hash(meaning.hash));
        this.#scalar('direction', meaning.direction);
        this.#flag('x_no_address_book', meaning.noAddressBook);
        break;
      case 'masterchainBlockShards':
        for (const name of ['seqno', 'limit', 'offset'] as const) {
          const value = meaning[name];
          this.#scalar(name, value === undefined ? undefined : this.#pick(['', '0', '000']) + String(value));
        }
        this.#scalar('sort', meaning.sort);
    }
    for (const noise of this.#gen(fc.subarray, NOISE)) this.#insert(noise);
    return {
      rawQuery: this.#pieces.join('&'),
      headers: { ...this.#headers, ...(this.#gen(fc.boolean) ? FOREIGN_HEADERS : {}) },
    };
  }

  /** In any order, some of them twice, joined by commas or each for itself. */
  #hashSet(hashes: readonly Buffer[]): void {
    const twice = this.#gen(fc.subarray, [...hashes]);
    let group: string[] = [];
    for (const hash of this.#shuffled([...hashes, ...twice])) {
      if (group.length > 0 && this.#gen(fc.boolean)) {
        this.#scalar('ext_msg_hash', group.join(','));
        group = [];
      }
      group.push(this.#hash(hash));
    }
    if (group.length > 0) this.#scalar('ext_msg_hash', group.join(','));
  }

  /** A version that stands alone is a header, or a query, or both: then the header wins. */
  #actions(actions: readonly string[]): void {
    const [first, ...others] = new Set(actions);
    if (first === undefined) return;
    const isVersion = others.length === 0 && /^(?:latest|v\d+)$/.test(first);
    const inHeader = isVersion && this.#gen(fc.boolean);
    if (inHeader) this.#headers['x-actions-version'] = first;
    if (!inHeader) this.#scalar('supported_action_types', this.#shuffled(actions).join(','));
    else if (this.#gen(fc.boolean)) this.#scalar('supported_action_types', 'v99,ton_transfer');
  }

  #flag(name: string, value: boolean): void {
    const headerName = name.replaceAll('_', '-');
    const way = this.#pick(value ? (['header', 'query', 'both'] as const) : (['none', 'header', 'query'] as const));
    const text = this.#pick(value ? YES : NO);
    if (way === 'header' || way === 'both') this.#headers[headerName] = text;
    if (way === 'query') this.#scalar(name, text);
    // The header wins over whatever the query says.
    if (way === 'both') this.#scalar(name, this.#pick([...YES, ...NO]));
  }

  #scalar(name: string, value: string | undefined): void {
    if (value !== undefined) this.#insert(this.#piece(name, value));
  }

  #piece(name: string, value: string): string {
    const spelledName = this.#pick([name, name.toUpperCase(), percentEncoded(name)]);
    const suffix = this.#pick(['', '', '[]', '[0]', '[17]', '%5B%5D']);
    const spelledValue = this.#pick([value, encodeURIComponent(value), percentEncoded(value)]);
    return `${spelledName}${suffix}=${spelledValue}`;
  }

  #hash(hash: Buffer): string {
    return this.#plusLost(this.#pick(Object.values(hashSpellings(hash))));
  }

  /** What a form decoder on the way makes of a raw `+`. */
  #plusLost(text: string): string {
    return this.#gen(fc.boolean) ? text.replaceAll('+', ' ') : text;
  }

  /** Anywhere in the query: what stands there already keeps its order. */
  #insert(piece: string): void {
    this.#pieces.splice(this.#gen(fc.nat, this.#pieces.length), 0, piece);
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return this.#gen(fc.shuffledSubarray, [...items], { minLength: items.length, maxLength: items.length });
  }

  #pick<T>(options: readonly T[]): T {
    return this.#gen(fc.constantFrom<T[]>, ...options);
  }
}

function percentEncoded(text: string): string {
  return text.replace(/[\s\S]/g, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
