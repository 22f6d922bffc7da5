import { answer } from './answer.ts';
import type { Chain } from './chain.ts';
import type { Dialect } from './dialect.ts';
import { type AskedRequest, Question } from './question.ts';
import { changesOf, type Trace } from './trace.ts';

/** An answer of which only the status and the body matter. */
export interface Said {
  readonly status: number;
  readonly text: string;
}

/** What the indexer says to a request from one change of the chain to the next. Instants are epoch ms. */
export interface PastAnswer {
  readonly fromAt: number;
  readonly untilAt: number;
  /** Made when it is asked for: most are never looked at. */
  readonly said: () => Said;
}

/** Every answer that the indexer gives to a request: oldest first, without gaps, and with the known ones to come. */
export function pastAnswers(request: AskedRequest, chain: Chain, dialect: Dialect): readonly PastAnswer[] {
  const changes = [...new Set(changesFor(new Question(request, { chain, dialect }), chain))].filter(Number.isFinite);
  changes.sort((a, b) => a - b);
  return [Number.NEGATIVE_INFINITY, ...changes].map((fromAt, place) => ({
    fromAt,
    untilAt: changes[place] ?? Number.POSITIVE_INFINITY,
    said: () => {
      const { status, body } = answer(new Question(request, { chain, dialect, instant: fromAt }));
      return { status, text: String(body) };
    },
  }));
}

/** The instants at which the answer to one of the three cached operations can change. */
function changesFor(question: Question, chain: Chain): readonly number[] {
  const commit = (of: { readonly seqno: number } | undefined) =>
    of === undefined ? [] : [chain.block(of.seqno)?.committedAt ?? Number.POSITIVE_INFINITY];
  if (question.operation === 'masterchainBlockShards') return commit({ seqno: question.integer('seqno') ?? 0 });
  if (question.operation === 'adjacentTransactions') {
    const transaction = chain.transaction(question.hash('hash') ?? '');
    return [transaction, transaction?.parent, ...(transaction?.children ?? [])].flatMap(commit);
  }
  return tracesFor(question, chain).flatMap(changesOf);
}

/** Those that an answer to `pendingTraces` can list at one time or another. */
function tracesFor(question: Question, chain: Chain): readonly Trace[] {
  const address = question.address('account');
  if (address === undefined) return question.hashes('ext_msg_hash').flatMap((hash) => chain.trace(hash) ?? []);
  return chain.recentTraces().filter(({ transactions }) => transactions.some((it) => it.account.address === address));
}
