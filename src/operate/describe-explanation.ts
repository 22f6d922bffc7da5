import type { FollowerState } from '../answer/block-proof.ts';
import type {
  CachedAnswer,
  ExplainedCall,
  ExplainedIndexer,
  ExplainedPass,
  ExplainedProof,
  Explanation,
} from '../answer/explain.ts';
import { REFUSED, type RefusedReason } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { duration } from '../time-units.ts';
import { textTable } from './text-table.ts';

const MOST_CHARACTERS = 200;

/** An explanation as lines for people. */
export function describeExplanation(explanation: Explanation): string {
  if ('notCached' in explanation) return describePass(explanation);
  const { target, headers, key, dropped, indexers, memory, redis, proof, lifetimes } = explanation;
  const rows: string[][] = [['upstream', cut(target)]];
  for (const [name, value] of Object.entries(headers)) rows.push(['header', `${name}: ${value}`]);
  rows.push(['key', cut(key)], ['log key', `"key":"${explanation.loggedKey}"`]);
  for (const { input, why } of dropped) rows.push(['ignored', `${cut(input)} (${why})`]);
  rows.push(...indexers.map(indexerRow));
  rows.push(['memory', describeAnswer(memory)], ['redis', describeAnswer(redis)]);
  if (proof !== undefined) rows.push(['proof', describeProof(proof)]);
  rows.push(['now', explanation.cacheStatus ?? 'a miss']);
  const table = textTable(['', ''], rows).replace(/^\n/, '');
  return `${table}\nPossible lifetimes (the body decides):\n${describeLifetimes(lifetimes)}`;
}

function describePass({ target, notCached, why, indexers }: ExplainedPass): string {
  const reason = why === undefined ? '' : ` (${why})`;
  const table = textTable(['', ''], [['upstream', cut(target)], ...indexers.map(indexerRow)]).replace(/^\n/, '');
  return `not cached: ${notCached}${reason}\n${table}`;
}

const UNCHOSEN: Readonly<Record<string, string>> = {
  'not-served': 'it does not serve the operation',
  'without-block': 'another one has the block, or a newer one',
  behind: 'it is behind, or its newest block does not count',
  backup: 'it is a backup, and another one can answer',
  failing: 'its requests fail, and another one can answer',
};

function indexerRow({ name, whyNot }: ExplainedIndexer): string[] {
  if (whyNot === undefined) return ['on a miss', `${name} may get it`];
  const words = UNCHOSEN[whyNot] ?? (whyNot in REFUSED ? sentenceOf(REFUSED[whyNot as RefusedReason], 'it') : whyNot);
  return ['on a miss', `not ${name}: ${words}`];
}

function describeAnswer(answer: CachedAnswer | string): string {
  if (typeof answer === 'string') return answer;
  const { state, answerClass, status, indexer, bodyBytes, ageMs, freshForMs, usableForMs, order } = answer;
  const lifetime =
    freshForMs > 0 ? `fresh for ${duration(freshForMs)}` : `${state}, usable for ${duration(usableForMs)}`;
  const by = indexer === undefined ? '' : ` by ${indexer}`;
  return `${answerClass}, ${lifetime}, requested ${duration(ageMs)} ago${by}, status ${status}, ${bodyBytes} bytes${order === undefined ? '' : `, order ${order}`}`;
}

const DOUBTS: Readonly<Record<Extract<ExplainedProof, { isProven: false }>['why'], string>> = {
  'not-kept': 'no answer is kept',
  'not-checked': 'blocks were not followed when it was requested, its list may be incomplete, or it came from Redis',
  'not-alive': 'the newest blocks are not read',
  'not-settled': 'the owners of the jetton wallets in the newest blocks are not looked up',
  'too-old': 'it is older than the setting proof allows',
  'asked-too-early': 'blocks were skipped or forgotten since it was requested, or shortly before',
  touched: 'it lacks a transaction of its accounts that a block or an answer has shown',
};

const FOLLOWERS: Readonly<Record<FollowerState, string>> = {
  alive: 'all blocks are read',
  behind: 'blocks are being read',
  idle: 'blocks are not followed, because too few polls would be answered',
  resting: 'blocks are not followed for a while, because they were read too slowly to prove answers',
};

function describeProof(proof: ExplainedProof): string {
  return proof.isProven
    ? `proven up to block ${proof.upToBlock}`
    : `none: ${DOUBTS[proof.why]} (${FOLLOWERS[proof.follower]})`;
}

function describeLifetimes(lifetimes: ExplainedCall['lifetimes']): string {
  const rows = lifetimes.map((policy) => [
    `  ${policy.rule}`,
    'lifetime' in policy
      ? duration(policy.lifetime)
      : `${duration(policy.minLifetime)} to ${duration(policy.maxLifetime)}, age / ${policy.ageDivisor}`,
    duration(policy.staleWhileRevalidate),
    duration(policy.staleIfError),
  ]);
  return textTable(['  row', 'fresh for', 'then stale while revalidating', 'stale if error'], rows);
}

function cut(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text;
}
