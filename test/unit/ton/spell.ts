import fc from 'fast-check';
import { FURTHER } from '../../../src/ton/operation-names.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import { type AccountId, addressSpellings, hashSpellings } from '../../../src/tools/simulator/spellings.ts';
import type { FurtherMeaning, Names, Transfers } from './further-meanings.ts';
import type { Meaning } from './meaning.ts';

/** A request in the spelling of a client. */
export interface Spelled {
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
}

/** Parameters that the always cached operations ignore, including broken percent-encoding: `name[0]` is not `name`. */
const NOISE = [
  ...['_=1700000000000', 'include_actions=true', 'api_key=secret', 'x_timeout=1', 'junk', '=', '', 'x[]=%41'],
  ...['junk=%zz', '%ff=1', '%=%', 'limit[0]=7', 'seqno[0]=7', 'account[0]=x', 'direction[1]=in', 'hash%5B0%5D=x'],
];
/** All parameters that a further operation drops, some of them in several spellings. */
const NOISE_OF_FURTHER = [
  '_=1700000000000',
  'api_key=secret',
  'API_KEY=',
  'x_timeout=%zz',
  'x_debug_request=1',
  '_[]=1',
  '',
];
/** Parameters of account states that no indexer reads, and spellings of `use_v2` that mean the same as no value. */
const NOISE_OF_STATES = [
  ...['include_boc=true', 'include_boc=0', 'Include_BOC[]=', 'include%5Fboc=%zz', 'include_boc'],
  ...['use_v2=false', 'use_v2=FALSE', 'USE_V2=0', 'use%5Fv2=%66', 'use_v2[]=F', 'use_v2=', 'use_v2'],
];
const FOREIGN_HEADERS: RequestHeaders = { cookie: 'a=b', 'x-api-key': 'secret', 'x-timeout': '1', accept: '*/*' };
const YES = ['true', 'True', 'TRUE', '1', 't', 'T'];
/** Values that mean false: a value that is not a boolean is ignored, which means false. */
const NO = ['false', 'False', '0', 'f', '', 'yes', 'tRUE', '2'];
const BOTH_DIRECTIONS = ['', 'both', '--', 'IN', 'all', 'in,out'];
/** Booleans of a parameter that refuses all other values, such as `include_actions`. */
const DECODED_YES = [...YES, 'on'];
const DECODED_NO = ['false', 'False', 'FALSE', '0', 'f', 'F', ''];
const SORTS = { asc: ['asc', 'ASC', 'a'], desc: ['desc', 'Desc', 'D'] };

/** Spells a meaning at random, as clients do. fast-check's `gen` makes every choice, so a failure can be reproduced. */
export function spell(meaning: Meaning, gen: fc.GeneratorValue): Spelled {
  return new Speller(gen).spell(meaning);
}

type Starts = Pick<Transfers, 'startLt' | 'startUtime'>;

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
          this.#pieces.push(this.#piece('account', this.#account(account)));
        }
        this.#hashSet(meaning.extMsgHashes, meaning.emptyHash);
        this.#actions(meaning.actions);
        this.#flag('x_no_address_book', meaning.noAddressBook);
        this.#flag('x_no_metadata', meaning.noMetadata);
        break;
      case 'adjacentTransactions':
        this.#scalar('hash', () => this.#hash(meaning.hash));
        this.#direction(meaning.direction);
        this.#flag('x_no_address_book', meaning.noAddressBook);
        break;
      case 'masterchainBlockShards':
        this.#number('seqno', meaning.seqno);
        this.#number('limit', meaning.limit, 1);
        this.#number('offset', meaning.offset, 0);
        this.#sort(meaning.sort);
        break;
      default:
        this.#further(meaning);
    }
    const isFurther = FURTHER.some((name) => name === meaning.operation);
    const isState = meaning.operation === 'addressInformation' || meaning.operation === 'walletInformation';
    const noise = isFurther ? [...NOISE_OF_FURTHER, ...(isState ? NOISE_OF_STATES : [])] : NOISE;
    for (const piece of this.#gen(fc.subarray, noise)) this.#insert(piece);
    return {
      rawQuery: this.#pieces.join('&'),
      headers: { ...this.#headers, ...(this.#gen(fc.boolean) ? FOREIGN_HEADERS : {}) },
    };
  }

  #further(meaning: FurtherMeaning): void {
    switch (meaning.operation) {
      case 'masterchainInfo':
        return;
      case 'blocks':
        this.#blocks(meaning);
        break;
      case 'transactionsByMasterchainBlock':
        this.#once('seqno', this.#pick(digitsOf(meaning.seqno)));
        break;
      case 'traces':
        this.#once(meaning.by, this.#hash(meaning.hash));
        this.#includeActions(meaning.includeActions);
        this.#actions(meaning.actions);
        this.#flag('x_no_metadata', meaning.noMetadata);
        break;
      case 'transactions':
        if ('hash' in meaning) this.#once('hash', this.#hash(meaning.hash));
        else this.#accountPage(meaning);
        break;
      case 'addressInformation':
      case 'walletInformation':
        this.#once('address', this.#account(meaning.account));
        return;
      case 'accountStates':
      case 'walletStates':
        this.#once('address', this.#account(meaning.account));
        if (!meaning.includeBoc || this.#gen(fc.boolean))
          this.#once('include_boc', this.#pick(meaning.includeBoc ? DECODED_YES : DECODED_NO));
        this.#names(meaning);
        return;
      case 'jetton/masters':
      case 'jetton/wallets':
        if ('account' in meaning) this.#once('address', this.#account(meaning.account));
        else this.#wallets(meaning);
        this.#names(meaning);
        this.#number('limit', meaning.limit, 1);
        if (this.#gen(fc.boolean)) this.#once('offset', this.#pick(['0', '', '00']));
        return;
      case 'jetton/transfers':
        if ('wallet' in meaning) this.#once('jetton_wallet', this.#account(meaning.wallet));
        else {
          this.#once('owner_address', this.#account(meaning.owner));
          if (meaning.direction !== undefined) this.#once('direction', meaning.direction);
        }
        this.#starts(meaning);
        this.#flag('x_no_metadata', meaning.noMetadata);
        break;
      case 'transactionsByMessage':
        this.#once('msg_hash', this.#hash(meaning.hash));
        if (meaning.direction !== undefined) this.#once('direction', meaning.direction);
    }
    this.#number('limit', meaning.limit, 1);
    if ('offset' in meaning) this.#number('offset', meaning.offset, 0);
    else if (this.#gen(fc.boolean)) this.#once('offset', this.#pick(['0', '', '00']));
    if (meaning.sort !== undefined) this.#once('sort', this.#pick(SORTS[meaning.sort]));
    if ('noAddressBook' in meaning) this.#flag('x_no_address_book', meaning.noAddressBook);
  }

  #names({ noAddressBook, noMetadata }: Names): void {
    this.#flag('x_no_address_book', noAddressBook);
    this.#flag('x_no_metadata', noMetadata);
  }

  #wallets({ owner, jetton, omitsZero, sort }: Extract<FurtherMeaning, { readonly omitsZero: boolean }>): void {
    this.#once('owner_address', this.#account(owner));
    if (jetton !== undefined) this.#once('jetton_address', this.#account(jetton));
    if (omitsZero || this.#gen(fc.boolean))
      this.#once('exclude_zero_balance', this.#pick(omitsZero ? DECODED_YES : DECODED_NO));
    if (sort !== undefined) this.#once('sort', this.#pick(SORTS[sort]));
  }

  #accountPage(meaning: FurtherMeaning & { readonly account: AccountId } & Starts): void {
    this.#once('account', this.#account(meaning.account));
    this.#starts(meaning);
  }

  #starts({ startLt, startUtime }: Starts): void {
    if (startLt !== undefined)
      this.#once('start_lt', this.#pick([`${startLt}`, `00${startLt}`, ...(startLt === 0n ? [''] : [])]));
    if (startUtime !== undefined) this.#once('start_utime', this.#pick(digitsOf(startUtime)));
  }

  #account(account: AccountId): string {
    return this.#plusLost(this.#pick(Object.values(addressSpellings(account))));
  }

  #blocks(meaning: FurtherMeaning & { readonly operation: 'blocks' }): void {
    switch (meaning.by) {
      case 'mc_seqno':
        this.#once('mc_seqno', this.#pick(digitsOf(meaning.seqno)));
        break;
      case 'block':
        this.#once('workchain', String(meaning.workchain));
        if (meaning.shard !== undefined) this.#once('shard', this.#pick(shardSpellings(meaning.shard)));
        this.#once('seqno', this.#pick(digitsOf(meaning.seqno)));
        break;
      default:
        this.#once(meaning.by, this.#hash(meaning.hash));
    }
  }

  #includeActions(value: boolean): void {
    if (value || this.#gen(fc.boolean)) this.#once('include_actions', this.#pick(value ? DECODED_YES : DECODED_NO));
  }

  /** The hashes in any order, some of them twice, joined by commas or separate; with an empty value if `withEmpty`. */
  #hashSet(hashes: readonly Buffer[], withEmpty: boolean): void {
    const twice = this.#gen(fc.subarray, [...hashes]);
    const values = [...hashes, ...twice].map((hash) => this.#hash(hash));
    if (withEmpty) values.push('');
    let group: string[] = [];
    for (const value of this.#shuffled(values)) {
      if (group.length > 0 && this.#gen(fc.boolean)) {
        this.#insert(this.#piece('ext_msg_hash', group.join(',')));
        group = [];
      }
      group.push(value);
    }
    if (group.length > 0) this.#insert(this.#piece('ext_msg_hash', group.join(',')));
  }

  /** A single word is sent in the header, in the query or in both: then the header wins. */
  #actions(actions: readonly string[]): void {
    const [first, ...others] = new Set(actions);
    if (first === undefined) return;
    const inHeader = others.length === 0 && first === first.trim() && !first.includes(',') && this.#gen(fc.boolean);
    if (inHeader) this.#header('x-actions-version', () => first);
    const inQuery = inHeader ? this.#pick([[], ['v99', 'ton_transfer']]) : this.#shuffled(actions);
    for (const word of inQuery) this.#insert(this.#piece('supported_action_types', word));
  }

  #flag(name: string, value: boolean): void {
    const headerName = name.replaceAll('_', '-');
    const way = this.#pick(
      value ? (['header', 'query', 'both'] as const) : (['none', 'header', 'query', 'both'] as const),
    );
    const text = () => this.#pick(value ? YES : NO);
    if (way === 'header' || way === 'both') this.#header(headerName, text);
    if (way === 'query') this.#scalar(name, text);
    // The header overrides any value in the query.
    if (way === 'both') this.#insert(this.#piece(name, this.#pick([...YES, ...NO])));
  }

  #direction(direction: 'in' | 'out' | undefined): void {
    if (direction !== undefined) this.#scalar('direction', () => direction);
    else if (this.#gen(fc.boolean)) this.#scalar('direction', () => this.#pick(BOTH_DIRECTIONS));
  }

  #sort(sort: 'asc' | 'desc' | undefined): void {
    if (sort !== undefined) this.#scalar('sort', () => this.#pick(SORTS[sort]));
    else if (this.#gen(fc.boolean)) this.#scalar('sort', () => '');
  }

  #number(name: string, value: number | undefined, whenEmpty?: number): void {
    if (value === undefined) return;
    const digits = digitsOf(value);
    this.#scalar(name, () => this.#pick(value === whenEmpty ? [...digits, ''] : digits));
  }

  /** Adds a parameter that must not be given twice. */
  #once(name: string, spelling: string): void {
    this.#insert(this.#piece(name, spelling));
  }

  /** Adds a parameter once, or twice in spellings with the same meaning. */
  #scalar(name: string, spelling: () => string): void {
    for (let times = this.#pick([1, 1, 2]); times > 0; times--) this.#insert(this.#piece(name, spelling()));
  }

  /** node:http joins two lines of a header into one value, with a comma. */
  #header(name: string, spelling: () => string): void {
    this.#headers[name] = this.#gen(fc.boolean) ? spelling() : `${spelling()}, ${spelling()}`;
  }

  #piece(name: string, value: string): string {
    const spelledName = this.#pick([name, name.toUpperCase(), percentEncoded(name)]);
    const suffix = this.#pick(['', '', '[]', '%5B%5D', ...(name === 'ext_msg_hash' ? ['[0]', '[17]', '%5B3%5D'] : [])]);
    const raw = /[%&]/.test(value) ? [] : [value];
    const spelledValue = this.#pick([...raw, encodeURIComponent(value), percentEncoded(value)]);
    return `${spelledName}${suffix}=${spelledValue}`;
  }

  #hash(hash: Buffer): string {
    return this.#plusLost(this.#pick(Object.values(hashSpellings(hash))));
  }

  /** A form decoder on the way may turn a raw `+` into a space. */
  #plusLost(text: string): string {
    return this.#gen(fc.boolean) ? text.replaceAll('+', ' ') : text;
  }

  /** Inserts a piece anywhere in the query; the other pieces keep their order. */
  #insert(piece: string): void {
    this.#pieces.splice(this.#gen(fc.nat, this.#pieces.length), 0, piece);
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return this.#gen(fc.shuffledSubarray, [...items], { minLength: items.length, maxLength: items.length });
  }

  /** Chooses an index, not an item: fast-check compares all arguments of an arbitrary with those of earlier ones. */
  #pick<T>(options: readonly T[]): T {
    return options[this.#gen(fc.nat, options.length - 1)] as T;
  }
}

function digitsOf(value: number): readonly string[] {
  return ['', '0', '000'].map((zeros) => zeros + String(value));
}

/** As hex, and also as a signed decimal number if that number is negative. */
function shardSpellings(shard: bigint): readonly string[] {
  const hex = shard.toString(16);
  const signed = BigInt.asIntN(64, shard);
  const spellings = [hex, hex.toUpperCase(), hex.padStart(16, '0')].flatMap((text) => [text, `0x${text}`]);
  return signed < 0n ? [...spellings, String(signed)] : spellings;
}

function percentEncoded(text: string): string {
  return text.replace(/[\s\S]/g, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
