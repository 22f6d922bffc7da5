import { answerAdjacent } from './answer-adjacent.ts';
import { answerBlockTransactions, answerMasterchainInfo, answerShards } from './answer-blocks.ts';
import { answerPendingTraces } from './answer-traces.ts';
import type { Question } from './question.ts';
import { IndexerRefusal } from './refusal.ts';
import { digest } from './seeded-random.ts';

/** An answer without the headers that every answer has. */
export interface SimulatedAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  /** Further headers; they may replace `Content-Type: application/json`. */
  readonly headers?: Readonly<Record<string, string>>;
}

function bocOf(body: Buffer): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString());
    const boc = typeof parsed === 'object' && parsed !== null && 'boc' in parsed ? parsed.boc : undefined;
    return typeof boc === 'string' && boc !== '' ? boc : undefined;
  } catch {
    return undefined;
  }
}

function answerMessage(question: Question): object {
  if (question.method !== 'POST') throw new IndexerRefusal(405, 'Method Not Allowed');
  const boc = bocOf(question.body);
  if (boc === undefined) throw new IndexerRefusal(422, 'boc should be specified');
  const hash = question.chain.send(undefined, digest('boc', boc));
  return { message_hash: hash, message_hash_norm: hash };
}

function answerTruly(question: Question): object {
  if (question.operation === 'message') return answerMessage(question);
  if (question.method !== 'GET' && question.method !== 'HEAD') throw new IndexerRefusal(405, 'Method Not Allowed');
  switch (question.operation) {
    case 'pendingTraces':
      return answerPendingTraces(question);
    case 'adjacentTransactions':
      return answerAdjacent(question);
    case 'masterchainBlockShards':
      return answerShards(question);
    case 'masterchainInfo':
      return answerMasterchainInfo(question);
    case 'transactionsByMasterchainBlock':
      return answerBlockTransactions(question);
    case 'other':
      throw new IndexerRefusal(404, 'Cannot find this path');
  }
}

/** The answer of an indexer of the question's dialect at the chain's present. Refusals are answers too. */
export function answer(question: Question): SimulatedAnswer {
  try {
    return { status: 200, body: JSON.stringify(answerTruly(question)) };
  } catch (error) {
    if (!(error instanceof IndexerRefusal)) throw error;
    return { status: error.status, body: JSON.stringify({ error: error.message }) };
  }
}
