import { z } from 'zod';
import {
  accounts,
  actionsVersion,
  actionTypes,
  direction,
  flag,
  hash,
  hashSet,
  limit,
  offset,
  seqno,
  sort,
} from './parameters.ts';

/** The operations that are cached. */
export const OPERATION_NAMES = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];

/** Parameters or headers, in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/**
 * The one form that stands for all spellings of a request. The key is made from it, and it is sent to the indexer, in a
 * fixed order.
 */
export interface CanonicalRequest {
  readonly query: Pairs;
  readonly headers: Pairs;
}

/** The path and query by which an operation of the indexer is asked, percent-encoded. */
export function targetOf(operation: string, query: Pairs): string {
  const pairs = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `/api/v3/${operation}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`;
}

/** One cached operation of the indexer's API. */
export interface Operation {
  readonly name: OperationName;
  /** Names of the query parameters that are read, in lower case; all others are dropped. */
  readonly queryNames: ReadonlySet<string>;
  /** Names of the request headers that change the answer, in lower case; all others are dropped. */
  readonly headerNames: ReadonlySet<string>;
  /** The value of `Vary`: exactly the headers that are read; empty when there are none. */
  readonly vary: string;
  /** A 200 must hold one of these lists; which one depends on the indexer's version. */
  readonly lists: readonly string[];
  /** Turns the given values, by name in lower case, into the canonical request. */
  readonly schema: z.ZodType<CanonicalRequest>;
}

type Value = string | number | undefined;

function pairs(values: Record<string, Value | readonly string[]>): Pairs {
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return Array.isArray(value) ? value.map((item: string) => [name, item] as const) : [[name, String(value)] as const];
  });
}

/** A flag may come as header or as query parameter. Where both are given the header wins, as in the indexer. */
function flagHeader(name: string, header: boolean | undefined, query: boolean | undefined): Pairs {
  return (header ?? query) ? [[name, 'true']] : [];
}

/**
 * One word means the same in the header and in the query, and is sent in the header. Several words, and a word that a
 * header cannot carry unchanged (empty, outer spaces, a comma), are sent in the query.
 */
function actionsInput(version: string | undefined, types: readonly string[]): { header: Pairs; query: Pairs } {
  const words = version === undefined ? types : [version];
  const [word = '', ...others] = words;
  if (others.length === 0 && word !== '' && word === word.trim() && !word.includes(',')) {
    return { header: [['X-Actions-Version', word]], query: [] };
  }
  return { header: [], query: pairs({ supported_action_types: words }) };
}

const pendingTraces = z
  .object({
    account: accounts,
    ext_msg_hash: hashSet,
    supported_action_types: actionTypes,
    x_no_address_book: flag,
    x_no_metadata: flag,
    'x-actions-version': actionsVersion,
    'x-no-address-book': flag,
    'x-no-metadata': flag,
  })
  .transform((given, ctx): CanonicalRequest => {
    if (given.account.length === 0 && given.ext_msg_hash.length === 0) {
      ctx.addIssue('account or ext_msg_hash should be specified');
      return z.NEVER;
    }
    const actions = actionsInput(given['x-actions-version'], given.supported_action_types);
    // An empty value names no message, so beside an account it is dropped.
    const hashes = given.account.length === 0 ? given.ext_msg_hash : given.ext_msg_hash.filter((hash) => hash !== '');
    return {
      query: [...pairs({ account: given.account, ext_msg_hash: hashes }), ...actions.query],
      headers: [
        ...actions.header,
        ...flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
        ...flagHeader('X-No-Metadata', given['x-no-metadata'], given.x_no_metadata),
      ],
    };
  });

const adjacentTransactions = z
  .object({ hash, direction, x_no_address_book: flag, 'x-no-address-book': flag })
  .transform(
    (given): CanonicalRequest => ({
      query: pairs({ hash: given.hash, direction: given.direction }),
      headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
    }),
  );

const masterchainBlockShards = z
  .object({ seqno, limit, offset, sort })
  .transform((given): CanonicalRequest => ({ query: pairs(given), headers: [] }));

/** Names with a hyphen are headers, all others are query parameters. */
function operation(
  name: OperationName,
  lists: readonly string[],
  vary: string,
  schema: z.ZodPipe<z.ZodObject, z.ZodTransform<CanonicalRequest>>,
): Operation {
  const names = Object.keys(schema.in.shape);
  return {
    name,
    lists,
    vary,
    schema: z.compile(schema),
    queryNames: new Set(names.filter((given) => !given.includes('-'))),
    headerNames: new Set(names.filter((given) => given.includes('-'))),
  };
}

/** All of them, by name. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [
    operation('pendingTraces', ['traces'], 'X-Actions-Version, X-No-Address-Book, X-No-Metadata', pendingTraces),
    operation('adjacentTransactions', ['transactions'], 'X-No-Address-Book', adjacentTransactions),
    operation('masterchainBlockShards', ['blocks', 'transactions'], '', masterchainBlockShards),
  ].map((known) => [known.name, known]),
);

const BY_PATH = new Map([...OPERATIONS].map(([name, known]) => [`/api/v3/${name}`.toLowerCase(), known]));

/** The operation at a request path (any case, with or without a trailing slash); `undefined` when it is none of ours. */
export function findOperation(path: string): Operation | undefined {
  const lowered = path.toLowerCase();
  return BY_PATH.get(lowered.endsWith('/') ? lowered.slice(0, -1) : lowered);
}
