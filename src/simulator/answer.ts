import { answerAdjacent, answerMasterchainInfo, answerRoundTransactions, answerShards } from './answer-blocks.ts';
import { answerPendingTraces } from './answer-traces.ts';
import { type Answer, type Question, Refusal } from './question.ts';
import { renderAddressBook } from './render-address-book.ts';
import { digest } from './seeded-random.ts';

// Below this the database gives up before it has looked, and the indexer takes that for "not there".
const SHORTEST_USEFUL_TIMEOUT_MS = 5;

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
  if (question.method !== 'POST') throw new Refusal(405, 'Method Not Allowed');
  const boc = bocOf(question.body);
  if (boc === undefined) throw new Refusal(422, 'boc should be specified');
  const hash = question.chain.send(undefined, digest('boc', boc));
  return { message_hash: hash, message_hash_norm: hash };
}

function answerAddressBook(question: Question): object {
  const accounts = question.list('address').flatMap((value) => {
    return question.chain.accounts.find(question.canonicalAddress('address', value)) ?? [];
  });
  return renderAddressBook(accounts);
}

function answerTruly(question: Question, turn: number): object {
  const timeoutMs = Number(question.setting('X-Timeout') ?? Number.POSITIVE_INFINITY);
  const gaveUp = timeoutMs < SHORTEST_USEFUL_TIMEOUT_MS;
  if (question.operation === 'message') return answerMessage(question);
  if (question.method !== 'GET' && question.method !== 'HEAD') throw new Refusal(405, 'Method Not Allowed');
  switch (question.operation) {
    case 'pendingTraces':
      if (gaveUp) throw new Refusal(500, 'timeout: context deadline exceeded');
      return answerPendingTraces(question, turn);
    case 'adjacentTransactions':
      if (gaveUp) throw new Refusal(404, 'adjacent transactions not found');
      return answerAdjacent(question);
    case 'masterchainBlockShards':
      if (gaveUp) throw new Refusal(404, 'blocks not found');
      return answerShards(question);
    case 'masterchainInfo':
      return answerMasterchainInfo(question);
    case 'transactionsByMasterchainBlock':
      return answerRoundTransactions(question);
    case 'addressBook':
      return answerAddressBook(question);
    case 'other':
      throw new Refusal(404, 'Cannot find this path');
  }
}

/** What the indexer of the question's dialect says at the chain's present; refusals are answers too. */
export function answer(question: Question, turn = 0): Answer {
  try {
    return { status: 200, body: JSON.stringify(answerTruly(question, turn)) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: error.status, body: JSON.stringify({ error: error.message }) };
  }
}
