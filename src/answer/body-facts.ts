import { type Completeness, completenessOf, entityTagOf, fingerprints, NO_MEMBERS, statesOf } from '../cache/entry.ts';
import { isObject } from '../json-object.ts';
import { type BlockFacts, type BlockRow, blockFactsOf, finalRowsIn, NO_BLOCK_FACTS } from '../ton/block-facts.ts';
import { type ChainPoint, isHead, NO_POINT } from '../ton/chain-point.ts';
import type { Evidence } from '../ton/evidence.ts';
import { type Finality, finalityOf, isOwnError } from '../ton/finality.ts';
import { saysNotServed } from '../ton/not-served.ts';
import { parseAnswer } from '../ton/parse-answer.ts';
import type { Call } from '../ton/parse-call.ts';

/** Everything that is read from the body of an answer. Small, whatever the size of the body. */
export interface BodyFacts {
  /** `undefined` if the body is not an answer to the call. */
  readonly finality: Finality | undefined;
  readonly completeness: Completeness;
  /** The transactions of its accounts that it shows; `undefined` if blocks cannot prove it. */
  readonly evidence: Evidence | undefined;
  /** The point of the indexer's chain that this body shows. */
  readonly chainPoint: ChainPoint;
  /** The final transactions in it, of the block that the reader asked for and later ones. */
  readonly rows: readonly BlockRow[];
  /** Strong entity tag over the bytes, with its quotes. */
  readonly etag: string;
  /** True if the body is a JSON object: such an error is passed on to the client unchanged. */
  readonly isObject: boolean;
  /** True if it is an error of the API itself. */
  readonly isOwnError: boolean;
  /** True for an error that reports that the indexer does not serve the operation. */
  readonly saysNotServed: boolean;
}

/** The facts of a body that is not an answer to any call. */
export const NO_FACTS: BodyFacts = {
  finality: undefined,
  completeness: completenessOf({ rank: 0, members: NO_MEMBERS, tentative: NO_MEMBERS }),
  evidence: undefined,
  chainPoint: NO_POINT,
  rows: [],
  etag: '',
  isObject: false,
  isOwnError: false,
  saysNotServed: false,
};

/** Reads what a body shows about blocks. Pure, never throws. */
export function blockFactsIn(bytes: Buffer): BlockFacts {
  const body = parseAnswer(bytes);
  return isObject(body) ? blockFactsOf(body) : NO_BLOCK_FACTS;
}

/** The part of a call that decides how its bodies are read. */
export type Readable = Pick<Call, 'operation' | 'request'>;

/** What the body of an entry shows of accounts. */
export interface ShownInBody extends Pick<BodyFacts, 'evidence'> {
  /** The final transactions in it, of the block that the reader asked for and later ones. */
  readonly rows: readonly BlockRow[];
}

/** A body that cannot be read shows nothing. */
export const NOTHING_SHOWN: ShownInBody = { rows: [], evidence: undefined };

/** Reads what the body of an entry, the 200 of a call, shows of accounts. Pure, never throws. */
export function shownIn({ operation, request }: Readable, bytes: Buffer, rowsFrom: number): ShownInBody {
  const body = parseAnswer(bytes);
  if (!isObject(body)) return NOTHING_SHOWN;
  return { rows: finalRowsIn(body, rowsFrom), evidence: operation.evidence?.(request, body) };
}

/** Reads a body. Pure, never throws. {@link parseAnswer} states its cost in time and memory. */
export function factsOf(call: Readable, status: number, bytes: Buffer, rowsFrom = Number.POSITIVE_INFINITY): BodyFacts {
  const body = parseAnswer(bytes);
  if (!isObject(body)) return NO_FACTS;
  const finality = status === 200 || status === 404 ? finalityOf(call, status, body) : undefined;
  if (finality === undefined) {
    const isNotServed = status === 500 && saysNotServed(call.operation.name, body);
    return { ...NO_FACTS, isObject: true, isOwnError: isOwnError(body), saysNotServed: isNotServed };
  }
  const chainPoint = call.operation.chainPoint(body);
  const { hashes, tentativeHashes, states, ...completeness } = call.operation.completeness(
    finality,
    body,
    call.request,
  );
  return {
    finality,
    completeness: completenessOf({
      ...completeness,
      members: fingerprints(hashes),
      tentative: fingerprints(tentativeHashes),
      states: states && statesOf(states),
    }),
    evidence: status === 200 ? call.operation.evidence?.(call.request, body) : undefined,
    chainPoint,
    rows: !isHead(chainPoint) && chainPoint.seqno >= rowsFrom ? finalRowsIn(body, rowsFrom) : [],
    etag: entityTagOf(bytes),
    isObject: true,
    isOwnError: false,
    saysNotServed: false,
  };
}
