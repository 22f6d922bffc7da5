import type { IncomingHttpHeaders } from 'node:http';
import type { Account } from './accounts.ts';
import type { Chain } from './chain.ts';
import { DIALECTS, type Dialect } from './dialect.ts';
import { addressSpellings, decodeAddress, decodeHash } from './spellings.ts';

/** What the simulated indexer is asked for; a path that it does not know is `other`. */
export type IndexerOperation =
  | 'pendingTraces'
  | 'adjacentTransactions'
  | 'masterchainBlockShards'
  | 'masterchainInfo'
  | 'transactionsByMasterchainBlock'
  | 'addressBook'
  | 'message'
  | 'other';

const OPERATIONS: readonly IndexerOperation[] = [
  'pendingTraces',
  'adjacentTransactions',
  'masterchainBlockShards',
  'masterchainInfo',
  'transactionsByMasterchainBlock',
  'addressBook',
  'message',
];

/** Which operation a raw request target (path and query) names. */
export function operationOf(target: string): IndexerOperation {
  const [path = ''] = target.split('?');
  return OPERATIONS.find((operation) => path === `/api/v3/${operation}`) ?? 'other';
}

/** An answer without the headers that every answer has. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  /** Beside `Content-Type: application/json`, which they may replace. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the indexer itself says no to: sent as `{"error": message}`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: 404 | 405 | 422 | 500;

  constructor(status: Refusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/** One request as the answering functions see it: parameters read as the dialect's indexer reads them. */
export class Question {
  readonly method: string;
  readonly operation: IndexerOperation;
  readonly chain: Chain;
  readonly dialect: Dialect;
  readonly body: Buffer;
  readonly #query: URLSearchParams;
  readonly #headers: IncomingHttpHeaders;

  constructor(
    request: { method: string; target: string; headers: IncomingHttpHeaders; body: Buffer },
    chain: Chain,
    dialect: Dialect,
  ) {
    this.method = request.method;
    this.operation = operationOf(request.target);
    this.chain = chain;
    this.dialect = dialect;
    this.body = request.body;
    // As the indexer's own form decoder, this turns a raw plus into a space, which then is no part of any value.
    this.#query = new URLSearchParams(request.target.split('?').slice(1).join('?'));
    this.#headers = request.headers;
  }

  /** The last value of a parameter, as Go's decoder reads a scalar. */
  last(name: string): string | undefined {
    return this.#query.getAll(name).at(-1);
  }

  /** All values of a parameter; with commas between them where the dialect takes that. */
  list(name: string): readonly string[] {
    const values = this.#query.getAll(name);
    const split = DIALECTS[this.dialect].commaLists && name !== 'account';
    return split ? values.flatMap((value) => value.split(',')) : values;
  }

  /** A header, or its spelling in the query (`X-No-Metadata`, `x_no_metadata`). */
  setting(header: string): string | undefined {
    const value = this.#headers[header.toLowerCase()];
    return (Array.isArray(value) ? value.at(-1) : value) ?? this.last(header.toLowerCase().replaceAll('-', '_'));
  }

  /** A setting that is a flag, as Go's `ParseBool` reads it. */
  flag(header: string): boolean {
    return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(this.setting(header) ?? '');
  }

  /** An integer parameter; 422 when it is something else. */
  integer(name: string): number | undefined {
    const value = this.last(name);
    if (value === undefined) return undefined;
    if (!/^-?\d{1,10}$/.test(value)) throw notConvertible(name);
    return Number(value);
  }

  /** A hash in any spelling that the dialect reads, made canonical; 422 otherwise. */
  canonicalHash(name: string, value: string): string {
    const padded = value.length !== 43;
    const hash = padded || DIALECTS[this.dialect].unpaddedHashes ? decodeHash(value) : undefined;
    if (hash === undefined) throw notConvertible(name);
    return hash.toString('base64');
  }

  /** An address in any spelling, made canonical; 422 otherwise. */
  canonicalAddress(name: string, value: string): Account['address'] {
    const account = decodeAddress(value);
    if (account === undefined) throw notConvertible(name);
    return addressSpellings(account).raw;
  }

  /** `limit` and `offset`, with the dialect's default, and its status for a limit that is too large. */
  page(): { readonly offset: number; readonly end: number } {
    const traits = DIALECTS[this.dialect];
    const limit = this.integer('limit') ?? traits.defaultLimit;
    const offset = this.integer('offset') ?? 0;
    if (limit > 1000) throw new Refusal(traits.limitTooLargeStatus, `limit is not allowed: ${limit} > 1000`);
    if (limit < 1) throw new Refusal(422, 'limit should be at least 1');
    if (offset < 0) throw new Refusal(422, 'offset should be at least 0');
    return { offset, end: offset + limit };
  }
}

function notConvertible(name: string): Refusal {
  return new Refusal(422, `failed to decode: schema: error converting value for "${name}"`);
}
