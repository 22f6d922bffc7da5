import { z } from 'zod';
import type { Retention } from '../freshness.ts';
import type { CanonicalRequest, Pairs } from './canonical-request.ts';
import type { ReadChainPoint } from './chain-point.ts';
import type { ReadCompleteness } from './completeness.ts';
import type { ReadEvidence } from './evidence.ts';
import type { LifetimeRule, ReadFinality } from './finality.ts';
import { FURTHER, type OperationName } from './operation-names.ts';
import { type DescribedParameter, describeParameters } from './parameters.ts';
import type { ReadTags } from './tags.ts';
import type { Watching } from './watchable.ts';

/** What a file in `operations/` says of its operation: how it is asked, and what the whole body of an answer says. */
export interface OperationRules<Name extends string, Rule extends LifetimeRule = LifetimeRule> {
  readonly name: Name;
  /** What it answers, for the OpenAPI document. */
  readonly summary: string;
  /**
   * Turns the given values, by name in lower case, into the canonical request. Its names are all that is read of a
   * request: those with a hyphen are headers, all others query parameters.
   */
  readonly schema: z.ZodPipe<z.ZodObject, z.ZodTransform<CanonicalRequest>>;
  /** How long a 200 can stay true, and which row of the table of lifetimes it falls under. */
  readonly finality: ReadFinality<NoInfer<Rule>>;
  /** The rows of the table of lifetimes that `finality` can name for a request. `finality` can name no other row. */
  readonly lifetimeRules: (request: CanonicalRequest) => readonly Rule[];
  /** Which of two answers to one request is more complete, where a replica may lag. */
  readonly completeness: ReadCompleteness;
  /**
   * How long an answer that shows anything committed is kept after its use, so that a replica that lags does not take it back.
   * `undefined` where the latest answer is right.
   */
  readonly retention: Retention | undefined;
  /**
   * What an answer shows of the transactions of its accounts, where blocks can prove that it is still true. Absent where they
   * cannot.
   */
  readonly evidence?: ReadEvidence;
  /** Set where a 404 is not kept: the indexer answers no such request with one. */
  readonly keepsNotFound?: false;
  /** How far an answer shows that the chain in the indexer's database has got. */
  readonly chainPoint: ReadChainPoint;
  /** What a purge can name of a request (`tags.ts`). An operation whose requests name nothing says so. */
  readonly tags: ReadTags | 'names nothing';
  /** The masterchain block that a request is about. Absent where requests are about none. */
  readonly masterchainSeqno?: (request: CanonicalRequest) => number | undefined;
  /** Of several indexers, the one with the newest block is asked. Absent where each that is up to date will do. */
  readonly routedTo?: 'newest';
  /** Whether answers may have megabytes and old ones are seldom asked for: they have a part of the memory tier. */
  readonly isBulky?: true;
  /** A query whose answer costs an indexer little: it shows whether the operation is served at all. */
  readonly cheapQuery: Pairs;
  /** What to do about an indexer that does not serve it; absent where each one does. */
  readonly remedy?: string;
  /** Absent where the stream of events announces nothing about the answers. */
  readonly watching?: Watching;
}

/** One cached operation of the indexer's API. */
export interface OperationOf<Name extends string> extends Omit<OperationRules<Name>, 'schema' | 'tags'> {
  readonly tags: ReadTags;
  /** Whether it is one of {@link FURTHER}. */
  readonly isFurther: boolean;
  readonly schema: z.ZodType<CanonicalRequest>;
  /** Names of the query parameters that are read, in lower case. */
  readonly queryNames: ReadonlySet<string>;
  /** Names of the request headers that change the answer, in lower case; all others are dropped. */
  readonly headerNames: ReadonlySet<string>;
  /** The parameters and headers of both, by these names. */
  readonly parameters: Readonly<Record<string, DescribedParameter>>;
  /** The value of `Vary`: exactly the headers that are read; empty when there are none. */
  readonly vary: string;
}

/** Makes an operation of its rules. */
export function operation<const Name extends OperationName, const Rule extends LifetimeRule>({
  schema,
  tags,
  ...rules
}: OperationRules<Name, Rule>): OperationOf<Name> {
  const names = Object.keys(schema.in.shape);
  const headers = names.filter((name) => name.includes('-'));
  return {
    ...rules,
    tags: tags === 'names nothing' ? () => [] : tags,
    isFurther: FURTHER.some((name) => name === rules.name),
    schema: z.compile(schema),
    queryNames: new Set(names.filter((name) => !name.includes('-'))),
    headerNames: new Set(headers),
    parameters: describeParameters(schema.in),
    vary: headers.map(asHeadersAreWritten).join(', '),
  };
}

/** `x-no-metadata` as `X-No-Metadata`. */
function asHeadersAreWritten(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
