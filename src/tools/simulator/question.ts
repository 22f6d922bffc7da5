import type { Chain } from './chain.ts';
import { DIALECTS, type Dialect, type DialectTraits } from './dialect.ts';
import { IndexerRefusal, Query, readAddress, readFlag, readHash, readInt32 } from './query.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** With a shorter timeout the database gives up before it has read anything. */
const SHORTEST_USEFUL_TIMEOUT_MS = 5;

/** An unparsed request. */
export interface AskedRequest {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  readonly body?: Buffer | undefined;
  /** By lower-case name; of several values the first counts. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The indexer that answers a question. */
export interface AnsweringIndexer {
  readonly chain: Chain;
  readonly dialect: Dialect;
  /** The instant of the question, epoch ms: the chain's present, or earlier. Default: the present. */
  readonly instant?: number;
  /** The chain's time that the database has committed, epoch ms. Default: the instant. */
  readonly databaseAt?: number;
  /** The time up to which the emulator has dropped ended traces, epoch ms. Default: as the database. */
  readonly droppedAt?: number;
}

/** One request, with its parameters as the dialect's indexer reads them, or refused by an {@link IndexerRefusal}. */
export class SimulatorQuestion {
  readonly method: string;
  readonly target: string;
  /** Empty without one. */
  readonly body: string;
  readonly chain: Chain;
  readonly dialect: Dialect;
  readonly instant: number;
  readonly databaseAt: number;
  readonly droppedAt: number;
  readonly traits: DialectTraits;
  readonly query: Query;
  readonly #headers: AskedRequest['headers'];

  constructor(
    { method, target, headers, body }: AskedRequest,
    { chain, dialect, instant = chain.now, databaseAt = instant, droppedAt = databaseAt }: AnsweringIndexer,
  ) {
    this.method = method;
    this.target = target;
    this.body = body?.toString() ?? '';
    this.chain = chain;
    this.dialect = dialect;
    this.instant = instant;
    this.databaseAt = databaseAt;
    this.droppedAt = droppedAt;
    this.traits = DIALECTS[dialect];
    this.query = new Query(target.split('?').slice(1).join('?'));
    this.#headers = headers;
  }

  /** The rows of a statement; empty if the client asks for a tiny timeout, which some operations do not notice. */
  select<Row>(rows: readonly Row[]): readonly Row[] {
    const timeoutMs = readInt32(this.setting('X-Timeout') ?? '') ?? Number.POSITIVE_INFINITY;
    return timeoutMs < SHORTEST_USEFUL_TIMEOUT_MS ? [] : rows;
  }

  /** The same for operations that notice the timeout. Throws a {@link IndexerRefusal}, 500. */
  selectAll<Row>(rows: readonly Row[]): readonly Row[] {
    if (this.select(rows).length < rows.length) throw new IndexerRefusal(500, 'timeout: context deadline exceeded');
    return rows;
  }

  /**
   * The same, or a 404. The indexer does not notice the timeout, and takes the rows read until then for all rows.
   * Throws a {@link IndexerRefusal}.
   */
  selectSome<Row>(rows: readonly Row[], what: string): readonly Row[] {
    const selected = this.select(rows);
    if (selected.length === 0) throw new IndexerRefusal(404, `${what} not found`);
    return selected;
  }

  /** The time when the indexer has a masterchain block, in epoch ms; infinite while it is not indexed. */
  committedAt(seqno: number): number {
    return this.chain.block(seqno) === undefined ? Number.POSITIVE_INFINITY : this.chain.indexedAt(seqno);
  }

  /** The value of a scalar parameter: the last of several counts. */
  scalar(name: string): string | undefined {
    return this.query.values(name).at(-1);
  }

  header(name: string): string | undefined {
    return [this.#headers[name.toLowerCase()]].flat()[0];
  }

  /** A header; without it (an empty one counts), its spelling in the query (`X-No-Metadata`, `x_no_metadata`). */
  setting(header: string): string | undefined {
    return this.header(header) ?? this.query.last(header.toLowerCase().replaceAll('-', '_'));
  }

  /** A flag; a non-boolean value is ignored. */
  flag(header: string): boolean {
    return readFlag(this.setting(header) ?? '') ?? false;
  }

  /** A flag that is decoded into a struct, which also accepts `on`. */
  decodedFlag(name: string): boolean {
    return this.#converted(name, (text) => (text === 'on' ? true : text === '' ? false : readFlag(text))) ?? false;
  }

  /** The page of rows (given newest first) in the requested order. Throws an {@link IndexerRefusal}. */
  sortedPage<Row>(rows: readonly Row[]): readonly Row[] {
    const page = this.page();
    return (this.sort() === 'asc' ? rows.toReversed() : rows).slice(...page);
  }

  /**
   * The hashes of a filter in some operations. 1.2 loses a list of only empty values: `undefined`, as if it were not
   * given. Throws an {@link IndexerRefusal}.
   */
  hashFilter(name: string): readonly string[] | undefined {
    const given = this.hashes(name);
    if (this.dialect !== '1.2' && given.includes(''))
      throw new IndexerRefusal(500, 'invalid length of input for type tonhash');
    const hashes = given.filter((hash) => hash !== '');
    return hashes.length === 0 ? undefined : hashes;
  }

  /** An integer parameter; an empty one is 0. */
  integer(name: string): number | undefined {
    return this.#converted(name, (text) => (text === '' ? 0 : readInt32(text)));
  }

  /** A logical time or a time of the chain; an empty one is 0. Throws an {@link IndexerRefusal}, 422. */
  unsigned(name: string): number | undefined {
    return this.#converted(name, (text) => (/^\d*$/.test(text) ? Number(text) : undefined));
  }

  /** The one hash of a parameter, canonical. */
  hash(name: string): string | undefined {
    return this.#converted(name, (text) => readHash(text, this.dialect));
  }

  /** The account of a parameter in its canonical form. */
  address(name: string): string | undefined {
    return this.#converted(name, (text) => readAddress(text, this.dialect));
  }

  /** A list of hashes, canonical, including empty ones: a value is only split at commas if it is not a hash itself. */
  hashes(name: string): readonly string[] {
    return this.#list(name, (text) => (text === '' ? '' : readHash(text, this.dialect)));
  }

  /** A list of accounts in their canonical forms, in the syntax of a list of hashes. */
  addresses(name: string): readonly string[] {
    return this.#list(name, (text) => readAddress(text, this.dialect));
  }

  /** The accounts of a filter. 1.2 ignores empty values: without others it is as if no value were given. */
  addressFilter(name: string): readonly string[] {
    const isEmpty = this.dialect === '1.2' && this.query.values(name).every((value) => value === '');
    return isEmpty ? [] : this.addresses(name);
  }

  /** True within the bounds of the question, each of which is inclusive. Throws an {@link IndexerRefusal}, 422. */
  isWithinBounds({ lt, now }: { readonly lt: number; readonly now: number }): boolean {
    const within = (value: number, name: 'lt' | 'utime') =>
      value >= (this.unsigned(`start_${name}`) ?? 0) &&
      value <= (this.unsigned(`end_${name}`) ?? Number.POSITIVE_INFINITY);
    return within(lt, 'lt') && within(now, 'utime');
  }

  /** The range in a list for `limit` and `offset`: from included, to excluded. */
  page(): readonly [from: number, to: number] {
    const limit = this.integer('limit') ?? DEFAULT_LIMIT;
    const offset = Math.max(0, this.integer('offset') ?? 0);
    if (limit > MAX_LIMIT)
      throw new IndexerRefusal(this.traits.limitTooLargeStatus, `limit is not allowed: ${limit} > ${MAX_LIMIT}`);
    return [offset, offset + Math.max(1, limit)];
  }

  /** The requested order. Throws a {@link IndexerRefusal} for another word, also for an empty one. */
  sort(): 'asc' | 'desc' | undefined {
    const sort = this.scalar('sort')?.toLowerCase();
    if (sort === undefined) return undefined;
    if (['asc', 'a', 'desc', 'd'].includes(sort)) return sort.startsWith('a') ? 'asc' : 'desc';
    throw new IndexerRefusal(this.traits.limitTooLargeStatus, 'wrong value for sort parameter');
  }

  #list(name: string, read: (text: string) => string | undefined): readonly string[] {
    return this.query.values(name).flatMap((value, place) => {
      const whole = read(value);
      if (whole !== undefined) return [whole];
      const known = value.split(',').map(read);
      return known.length > 1 && known.every((part) => part !== undefined)
        ? known
        : notConvertible(`index ${place} of "${name}"`);
    });
  }

  #converted<Value>(name: string, read: (text: string) => Value | undefined): Value | undefined {
    const text = this.scalar(name);
    return text === undefined ? undefined : (read(text) ?? notConvertible(`"${name}"`));
  }
}

function notConvertible(what: string): never {
  throw new IndexerRefusal(422, `failed to decode: schema: error converting value for ${what}`);
}
