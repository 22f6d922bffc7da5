import type { CachedAnswer, Explanation } from '../answer/explain.ts';
import { duration, textTable } from './text-table.ts';

const MOST_CHARACTERS = 200;

/** An explanation as lines for people. */
export function describeExplanation(explanation: Explanation): string {
  const { target, headers, key, dropped, memory, redis, lifetimes } = explanation;
  const rows: string[][] = [['asks', cut(target)]];
  for (const [name, value] of Object.entries(headers)) rows.push(['with', `${name}: ${value}`]);
  rows.push(['key', cut(key)], ['in the log', `"key":"${explanation.loggedKey}"`]);
  for (const { input, why } of dropped) rows.push(['drops', `${cut(input)} (${why})`]);
  rows.push(['memory', describeAnswer(memory)], ['redis', describeAnswer(redis)]);
  const table = textTable(['', ''], rows).replace(/^\n/, '');
  return `${table}\nAn answer can live as (its body decides):\n${describeLifetimes(lifetimes)}`;
}

function describeAnswer(answer: CachedAnswer | string): string {
  if (typeof answer === 'string') return answer;
  const { state, answerClass, status, indexer, bodyBytes, ageMs, freshForMs, usableForMs } = answer;
  const lifetime =
    freshForMs > 0 ? `fresh for ${duration(freshForMs)}` : `${state}, usable for ${duration(usableForMs)}`;
  const by = indexer === undefined ? '' : ` by ${indexer}`;
  return `${answerClass}, ${lifetime}, asked for ${duration(ageMs)} ago${by}, status ${status}, ${bodyBytes} bytes`;
}

function describeLifetimes(lifetimes: Explanation['lifetimes']): string {
  const rows = lifetimes.map((policy) => [
    `  ${policy.rule}`,
    'lifetime' in policy
      ? duration(policy.lifetime)
      : `${duration(policy.shortestLifetime)} to ${duration(policy.longestLifetime)}, age / ${policy.ageDivisor}`,
    duration(policy.staleWhileRevalidate),
    duration(policy.staleIfError),
  ]);
  return textTable(['  rule (lifetimes.*)', 'fresh for', 'then stale while revalidating', 'stale if error'], rows);
}

function cut(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text;
}
