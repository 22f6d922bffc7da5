import { z } from 'zod';
import type { Retention } from '../freshness.ts';
import type { Ms } from '../time-units.ts';
import type { CanonicalRequest, Pairs } from './canonical-request.ts';
import type { ReadChainPoint } from './chain-point.ts';
import type { ReadCompleteness } from './completeness.ts';
import type { ReadEvidence } from './evidence.ts';
import type { ReadFinality } from './finality.ts';
import type { LifetimeRule } from './lifetime-table.ts';
import type { OwnerKey } from './owner-keys.ts';
import { type DescribedParameter, describeParameters } from './parameters.ts';
import type { ReadTags } from './tags.ts';

/**
 * The rules of one operation, from its file in `operations/`: its parameters, and the meaning of an answer's whole
 * body.
 */
export interface OperationRules<Name extends string, Rule extends LifetimeRule = LifetimeRule> {
  readonly name: Name;
  /** Set if it is cached without a setting that names it. All others are further operations. */
  readonly isAlwaysCached?: true;
  /** Other names of its path in the indexer. Requests are sent to the indexer under `name`. */
  readonly aliases?: readonly string[];
  /** For the OpenAPI document. */
  readonly summary: string;
  /**
   * Turns the given values, by name in lower case, into the canonical request. Only its names are read from a request:
   * names with a hyphen are headers, all others query parameters.
   */
  readonly schema: z.ZodPipe<z.ZodObject, z.ZodTransform<CanonicalRequest>>;
  /**
   * Parameters that clients send and no version of the indexer reads, in lower case: a further operation drops them, and
   * no other unknown ones.
   */
  readonly unread?: readonly string[];
  /** Set if it is a `POST`, with its parameters in a JSON body. */
  readonly body?: BodyRules;
  /** Set if `all` opens it only where it may be passed through, too, if only listed paths may. */
  readonly isNamedToPass?: true;
  /**
   * Set if an answer that is not proven is only for the requests that wait for it: others join a load for this time
   * after its request was sent, and no instance waits for the load of another.
   */
  readonly joinedForMs?: Ms;
  /**
   * Statuses that answer a request, with the API's own body: it is sent to the clients that wait, kept for nobody, and
   * shows nothing about the indexer.
   */
  readonly ownErrors?: readonly number[];
  /** How long a 200 can stay true, and its row of the table of lifetimes. */
  readonly finality: ReadFinality<NoInfer<Rule>>;
  /** The rows of the table of lifetimes that `finality` can name for a request. `finality` can name no other row. */
  readonly lifetimeRules: (request: CanonicalRequest) => readonly Rule[];
  /** Decides which of two answers to one request is more complete, if a replica may lag. */
  readonly completeness: ReadCompleteness;
  /**
   * The time for which an answer with committed data is kept after its use, so that a lagging replica does not replace
   * it with an older one. `undefined` if the latest answer is right.
   */
  readonly retention: Retention | undefined;
  /**
   * The transactions of its accounts in an answer, if blocks can prove that it is still true. Absent if they cannot.
   */
  readonly evidence?: ReadEvidence;
  /**
   * The keys of `owner-keys.ts` that touch an answer to a request. `undefined` if it is touched by transactions of the
   * accounts in its tags; absent if all are.
   */
  readonly touchedBy?: (request: CanonicalRequest) => readonly OwnerKey[] | undefined;
  /** The get-method that a request runs. */
  readonly method?: (request: CanonicalRequest) => string | undefined;
  /** Set if a 404 is not kept: the indexer answers no such request with one. */
  readonly keepsNotFound?: false;
  /** The point of the chain in the indexer's database that an answer shows. */
  readonly chainPoint: ReadChainPoint;
  /** The values of a request that a purge can name (`tags.ts`), or `names nothing`. */
  readonly tags: ReadTags | 'names nothing';
  /** Set if an answer lists the transactions of the masterchain block that the request is about. */
  readonly listsBlock?: true;
  /** The masterchain block that a request is about. Absent if requests are about none. */
  readonly masterchainSeqno?: (request: CanonicalRequest) => number | undefined;
  /**
   * With several indexers, requests go to the one with the newest block. Absent if any indexer that is up to date will
   * do.
   */
  readonly routedTo?: 'newest';
  /** A query with a cheap answer: it shows whether an indexer serves the operation at all. */
  readonly cheapQuery: Pairs;
  /** The remedy for an indexer that does not serve it; absent if every indexer does. */
  readonly remedy?: string;
}

/** The values in a body, by the names of the schema. */
export type GivenBody = Readonly<Record<string, readonly string[]>>;

/** How the parameters of a request stand in its JSON body. */
export interface BodyRules {
  /** The values in the body of a client's request; `undefined` if it has no cached form. */
  readonly read: (body: Buffer) => GivenBody | undefined;
  /** The body of a request to the indexer. */
  readonly write: (request: CanonicalRequest) => string;
}

/** The largest body of a request that has a cached form. */
export const MOST_BODY_BYTES = 4096;

/** One cached operation of the indexer's API. */
export interface OperationOf<Name extends string>
  extends Omit<OperationRules<Name>, 'aliases' | 'isAlwaysCached' | 'schema' | 'tags' | 'unread'> {
  /** The names of its paths below `/api/v3/`: its own name, then its aliases. */
  readonly paths: readonly string[];
  readonly tags: ReadTags;
  readonly isFurther: boolean;
  readonly schema: z.ZodType<CanonicalRequest>;
  /** Names of its query parameters, in lower case; none if they stand in a body. */
  readonly queryNames: ReadonlySet<string>;
  /** Names of the query parameters that are dropped because no version of the indexer reads them, in lower case. */
  readonly unread: ReadonlySet<string>;
  /** Names of the request headers that change the answer, in lower case; all others are dropped. */
  readonly headerNames: ReadonlySet<string>;
  /** The parameters and headers of both sets, by these names. */
  readonly parameters: Readonly<Record<string, DescribedParameter>>;
  /** The value of `Vary`: exactly these headers; empty without any. */
  readonly vary: string;
}

/** Makes an operation from its rules. */
export function operation<const Name extends string, const Rule extends LifetimeRule>({
  aliases = [],
  isAlwaysCached,
  schema,
  tags,
  unread = [],
  ...rules
}: OperationRules<Name, Rule>): OperationOf<Name> {
  const names = Object.keys(schema.in.shape);
  const headers = names.filter((name) => name.includes('-'));
  return {
    ...rules,
    paths: [rules.name, ...aliases],
    unread: new Set(unread),
    tags: tags === 'names nothing' ? () => [] : tags,
    isFurther: isAlwaysCached !== true,
    schema: z.compile(schema),
    queryNames: new Set(rules.body === undefined ? names.filter((name) => !name.includes('-')) : []),
    headerNames: new Set(headers),
    parameters: describeParameters(schema.in),
    vary: headers.map(asHeadersAreWritten).join(', '),
  };
}

/** `x-no-metadata` as `X-No-Metadata`. */
function asHeadersAreWritten(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
