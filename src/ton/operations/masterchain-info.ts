import { z } from 'zod';
import { isObject, type JsonObject } from '../../json-object.ts';
import type { CanonicalRequest } from '../canonical-request.ts';
import { headOf } from '../chain-point.ts';
import type { Finality } from '../finality.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { operation } from '../operation.ts';

const schema = z.object({}).transform((): CanonicalRequest => ({ query: [], headers: [] }));

/** The newest and the oldest masterchain block, both with their seqnos. */
function finalityOfHead(body: JsonObject): Finality<'head'> | undefined {
  const { last, first } = body;
  const hasFirst = isObject(first) && Number.isInteger(first['seqno']);
  const isHead = headOf(body).seqno >= 0 && hasFirst && isObject(last) && last['workchain'] === -1;
  return isHead ? { rule: 'head' } : undefined;
}

/** The newest and the oldest masterchain block of the indexer. */
export const masterchainInfo = operation({
  name: 'masterchainInfo',
  summary: 'The newest and the oldest masterchain block of the indexer',
  schema,
  finality: finalityOfHead,
  lifetimeRules: () => ['head'],
  // A replica that lags behind names an older block.
  completeness: (_, body) => ({ rank: headOf(body).seqno, hashes: [], tentativeHashes: [] }),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: headOf,
  tags: 'names nothing',
  routedTo: 'newest',
  cheapQuery: [],
});
