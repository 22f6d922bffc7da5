import type { Chain } from './chain.ts';
import { DIALECTS, type Dialect, type DialectTraits } from './dialect.ts';
import { type IndexerOperation, operationOf } from './operation.ts';
import { Query } from './query.ts';
import { readAddress, readFlag, readHash, readInt32 } from './read-values.ts';
import { IndexerRefusal } from './refusal.ts';

/** With a shorter timeout the database gives up before it has read anything. */
const SHORTEST_USEFUL_TIMEOUT_MS = 5;

/** A request as it came. */
export interface AskedRequest {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  /** By lower-case name; of several values the first counts. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** What answers are made from: a chain at its present, or at another instant. */
export type AnsweringChain = Pick<
  Chain,
  | 'now'
  | 'headSeqno'
  | 'floorSeqno'
  | 'block'
  | 'transaction'
  | 'parent'
  | 'children'
  | 'pendingTraces'
  | 'pendingTracesOf'
  | 'send'
>;

/** One request as the answering functions see it: parameters read as the dialect's indexer reads them. */
export class Question {
  readonly method: string;
  readonly operation: IndexerOperation;
  readonly chain: AnsweringChain;
  readonly dialect: Dialect;
  readonly traits: DialectTraits;
  readonly body: Buffer;
  readonly query: Query;
  readonly #headers: AskedRequest['headers'];

  constructor(request: AskedRequest, chain: AnsweringChain, dialect: Dialect) {
    this.method = request.method;
    this.operation = operationOf(request.target);
    this.chain = chain;
    this.dialect = dialect;
    this.traits = DIALECTS[dialect];
    this.body = request.body;
    this.query = new Query(request.target.split('?').slice(1).join('?'));
    this.#headers = request.headers;
  }

  /**
   * The rows of a statement, none of which is read if the client asks for a tiny timeout: most operations take that for a
   * list without rows.
   */
  select<Row>(rows: readonly Row[]): readonly Row[] {
    const timeoutMs = readInt32(this.setting('X-Timeout') ?? '') ?? Number.POSITIVE_INFINITY;
    return timeoutMs < SHORTEST_USEFUL_TIMEOUT_MS ? [] : rows;
  }

  /** The same where the indexer notices the timeout. Throws a {@link IndexerRefusal}, 500. */
  selectAll<Row>(rows: readonly Row[]): readonly Row[] {
    if (this.select(rows).length < rows.length) throw new IndexerRefusal(500, 'timeout: context deadline exceeded');
    return rows;
  }

  /** The value of a scalar parameter: of several the last counts. */
  scalar(name: string): string | undefined {
    return this.query.values(name).at(-1);
  }

  /** A header; where it is not sent, empty included, its spelling in the query (`X-No-Metadata`, `x_no_metadata`). */
  setting(header: string): string | undefined {
    const [value] = [this.#headers[header.toLowerCase()]].flat();
    return value ?? this.query.last(header.toLowerCase().replaceAll('-', '_'));
  }

  /** The first value of a header that has no spelling in the query. */
  header(name: string): string | undefined {
    return [this.#headers[name.toLowerCase()]].flat()[0];
  }

  /** A flag; a value that is not boolean is ignored. */
  flag(header: string): boolean {
    return readFlag(this.setting(header) ?? '') ?? false;
  }

  /** An integer parameter; an empty one is 0. Throws a {@link IndexerRefusal}, 422. */
  integer(name: string): number | undefined {
    const text = this.scalar(name);
    if (text === undefined) return undefined;
    if (text === '') return 0;
    return readInt32(text) ?? notConvertible(`"${name}"`);
  }

  /** The one hash of a parameter, canonical. Throws a {@link IndexerRefusal}, 422. */
  hash(name: string): string | undefined {
    const text = this.scalar(name);
    return text === undefined ? undefined : (readHash(text, this.dialect) ?? notConvertible(`"${name}"`));
  }

  /**
   * A list of hashes, canonical, empty ones included: a value is only split at commas if it is not a hash itself.
   * Throws a {@link IndexerRefusal}, 422.
   */
  hashes(name: string): readonly string[] {
    return this.query.values(name).flatMap((value, place) => {
      const hash = this.#hashOrEmpty(value);
      if (hash !== undefined) return [hash];
      const parts = value.split(',').map((part) => this.#hashOrEmpty(part));
      const known = parts.filter((part) => part !== undefined);
      return parts.length > 1 && known.length === parts.length ? known : notConvertible(`index ${place} of "${name}"`);
    });
  }

  /** The account of a parameter in its canonical form: of several the last counts. Throws a {@link IndexerRefusal}, 422. */
  address(name: string): string | undefined {
    const text = this.scalar(name);
    return text === undefined ? undefined : (readAddress(text, this.dialect) ?? notConvertible(`"${name}"`));
  }

  #hashOrEmpty(text: string): string | undefined {
    return text === '' ? '' : readHash(text, this.dialect);
  }
}

function notConvertible(what: string): never {
  throw new IndexerRefusal(422, `failed to decode: schema: error converting value for ${what}`);
}
