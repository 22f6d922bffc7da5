import type { OperationName } from '../../../src/ton/operations.ts';
import type { RequestHeaders } from '../../../src/ton/parse-call.ts';
import { HASH_HEX, requestOf } from './requests.ts';

export const QUESTION: Record<OperationName, string> = {
  pendingTraces: `ext_msg_hash=${HASH_HEX}`,
  adjacentTransactions: `hash=${HASH_HEX}`,
  masterchainBlockShards: 'seqno=1',
};

export const query = (name: OperationName, rawQuery: string, headers?: RequestHeaders) =>
  requestOf(name, rawQuery, headers).query;
