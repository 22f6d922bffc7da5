import type { CachedAnswer, ExplainedRequest, Explanation } from '../answer/explain.ts';
import { duration, textTable } from './text-table.ts';

const MOST_CHARACTERS = 200;

/** An explanation as lines for people. */
export function describeExplanation(explained: ExplainedRequest | Explanation): string {
  const { target, headers, key, dropped } = explained;
  const rows: string[][] = [['asks', cut(target)]];
  for (const [name, value] of Object.entries(headers)) rows.push(['with', `${name}: ${value}`]);
  rows.push(['key', cut(key)]);
  for (const { input, why } of dropped) rows.push(['drops', `${cut(input)} (${why})`]);
  if ('memory' in explained) rows.push(...describeCached(explained));
  const table = textTable(['', ''], rows).replace(/^\n/, '');
  return `${table}\nAn answer can live as (its body decides):\n${describeLifetimes(explained)}`;
}

function describeCached({ memory, redis }: Explanation): string[][] {
  return [
    ['memory', typeof memory === 'string' ? memory : describeAnswer(memory)],
    ['redis', typeof redis === 'string' ? redis : describeAnswer(redis)],
  ];
}

function describeAnswer({
  state,
  answerClass,
  status,
  indexer,
  bodyBytes,
  ageMs,
  freshForMs,
  usableForMs,
}: CachedAnswer): string {
  const left = freshForMs > 0 ? `fresh for ${duration(freshForMs)}` : `${state}, usable for ${duration(usableForMs)}`;
  const by = indexer === undefined ? '' : ` by ${indexer}`;
  return `${answerClass}, ${left}, asked for ${duration(ageMs)} ago${by}, status ${status}, ${bodyBytes} bytes`;
}

function describeLifetimes({ lifetimes }: ExplainedRequest): string {
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
