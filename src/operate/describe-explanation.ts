import type { FollowerState } from '../answer/block-proof.ts';
import type { CachedAnswer, ExplainedCall, ExplainedIndexer, ExplainedProof, Explanation } from '../answer/explain.ts';
import { REFUSED, type RefusedReason } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { duration } from '../time-units.ts';
import { textTable } from './text-table.ts';

const MOST_CHARACTERS = 200;

/** The rows of an explanation: a name, and the words for it, none for a row that does not apply. */
const ROWS: readonly (readonly [name: string, words: (explanation: Explanation) => readonly string[]])[] = [
  ['upstream', ({ target }) => [cut(target)]],
  ['body', ofCall(({ body }) => (body === undefined ? [] : [cut(body)]))],
  ['header', ofCall(({ headers }) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`))],
  ['key', ofCall(({ key }) => [cut(key)])],
  ['log key', ofCall(({ loggedKey }) => [`"key":"${loggedKey}"`])],
  ['ignored', ofCall(({ dropped }) => dropped.map(({ input, why }) => `${cut(input)} (${why})`))],
  ['on a miss', ({ indexers }) => indexers.map(describeIndexer)],
  ['memory', ofCall(({ memory, lifetimes }) => [describeAnswer(memory, lifetimes)])],
  ['redis', ofCall(({ redis, lifetimes }) => [describeAnswer(redis, lifetimes)])],
  ['proof', ofCall(({ proof }) => (proof === undefined ? [] : [describeProof(proof)]))],
  ['now', ofCall(({ cacheStatus }) => [cacheStatus ?? 'a miss'])],
];

function ofCall(words: (call: ExplainedCall) => readonly string[]): (explanation: Explanation) => readonly string[] {
  return (explanation) => ('notCached' in explanation ? [] : words(explanation));
}

/** An explanation as lines for people. */
export function describeExplanation(explanation: Explanation): string {
  const rows = ROWS.flatMap(([name, words]) => words(explanation).map((each) => [name, each]));
  const table = textTable(['', ''], rows).replace(/^\n/, '');
  if (!('notCached' in explanation))
    return `${table}\nPossible TTLs (the body of the response decides):\n${describeLifetimes(explanation.lifetimes)}`;
  const { notCached, why } = explanation;
  return `not cached: ${notCached}${why === undefined ? '' : ` (${why})`}\n${table}`;
}

const UNCHOSEN: Readonly<Record<string, string>> = {
  'not-served': 'it does not serve the operation',
  'without-block': 'another one has the block, or a newer one',
  behind: 'it is behind, or its newest block does not count',
  backup: 'it is a backup, and another one can answer',
  failing: 'its requests fail, and another one can answer',
};

function describeIndexer({ name, whyNot, isTrial }: ExplainedIndexer): string {
  if (whyNot === undefined)
    return `${name} may get it${isTrial ? ', as the trial of its half-open circuit breaker' : ''}`;
  const words = UNCHOSEN[whyNot] ?? (whyNot in REFUSED ? sentenceOf(REFUSED[whyNot as RefusedReason], 'it') : whyNot);
  return `not ${name}: ${words}`;
}

function describeAnswer(answer: CachedAnswer | string, lifetimes: ExplainedCall['lifetimes']): string {
  if (typeof answer === 'string') return answer === 'absent' ? `absent${shortLifeOf(lifetimes)}` : answer;
  const { state, answerClass, status, indexer, bodyBytes, ageMs, freshForMs, usableForMs, order } = answer;
  const isOutdated = state !== 'fresh' && state !== 'proven' && freshForMs > 0;
  const use = isOutdated ? 'outdated: it lacks a transaction that toncache has seen' : state;
  const lifetime =
    state === 'fresh' ? `fresh for ${duration(freshForMs)}` : `${use}, usable for ${duration(usableForMs)}`;
  const by = indexer === undefined ? '' : ` by ${indexer}`;
  return `${answerClass}, ${lifetime}, requested ${duration(ageMs)} ago${by}, status ${status}, ${bodyBytes} bytes${order === undefined ? '' : `, order ${order}`}`;
}

/** A shorter lifetime is over before anybody can look. */
const SHOWN_BELOW_MS = 1000;

function shortLifeOf(lifetimes: ExplainedCall['lifetimes']): string {
  const longest = Math.max(...lifetimes.map((each) => ('lifetime' in each ? each.lifetime : each.maxLifetime)));
  return longest < SHOWN_BELOW_MS ? `: a response is fresh for ${duration(longest)} at most` : '';
}

const DOUBTS: Readonly<Record<Extract<ExplainedProof, { isProven: false }>['why'], string>> = {
  'not-kept': 'no response is stored',
  'not-checked': 'blocks were not followed when it was requested, its list may be incomplete, or it came from Redis',
  'not-alive': 'the newest blocks are not read',
  'not-settled': 'the owners of the jetton wallets in the newest blocks are not looked up',
  'too-old': 'it is older than PROOF_MAX_AGE allows',
  'asked-too-early': 'blocks were skipped or forgotten since it was requested, or shortly before',
  touched: 'it lacks a transaction of its accounts that a block or a response has shown',
  'asked-once': 'no earlier response since the last transaction of the account was the same',
  'answers-differ':
    'this get-method gave different responses without a transaction of the account: it may read the time',
};

const FOLLOWERS: Readonly<Record<FollowerState, string>> = {
  alive: 'all blocks are read',
  behind: 'blocks are being read',
  idle: 'blocks are not followed, because too few polls would be answered',
  resting: 'blocks are not followed for a while, because too few responses were proven',
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
