import { hash } from 'node:crypto';
import { fingerprints } from '../cache/entry.ts';
import { type Finality, judgeFinality } from '../ton/finality.ts';
import type { Call } from '../ton/parse-call.ts';
import { richnessOf } from '../ton/richness.ts';

/** All that is known of an answer from its body. Small, whatever the size of the body. */
export interface BodyFacts {
  /** `undefined` when it is no answer to the call. */
  readonly finality: Finality | undefined;
  /** See `Richness` of the cache. */
  readonly rank: number;
  readonly members: Buffer;
  /** Strong entity tag over the bytes, with its quotes. */
  readonly etag: string;
  /** Whether it is an error in the indexer's form. */
  readonly isError: boolean;
}

/** Of a body that is no answer to any call. */
export const NO_FACTS: BodyFacts = {
  finality: undefined,
  rank: 0,
  members: fingerprints([]),
  etag: '',
  isError: false,
};

/** Reads a body. Pure, never throws. 1 MiB of JSON that is made to be slow takes up to 0.3 s. */
export function factsOf(call: Call, status: number, bytes: Buffer): BodyFacts {
  const body = parseJson(bytes);
  const finality = status === 200 || status === 404 ? judgeFinality(call, status, body) : undefined;
  if (finality === undefined) return { ...NO_FACTS, isError: isError(body) };
  const { rank, hashes } = richnessOf(call, finality, body);
  const etag = `"${hash('sha256', bytes, 'base64url')}"`;
  return { finality, rank, members: fingerprints(hashes), etag, isError: false };
}

/** `undefined` for what is not JSON: no JSON text has that value. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isError(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
}
