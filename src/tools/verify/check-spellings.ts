import type { Ms } from '../../time-units.ts';
import { POLICIES } from '../../ton/lifetime-table.ts';
import { OPERATIONS } from '../../ton/operations.ts';
import { hashSpellings } from '../simulator/spellings.ts';
import type { Answered } from './asker.ts';
import { promiseOf } from './cache-headers.ts';
import { excuseFor, inspect, type Run } from './examine.ts';
import type { VerifiedOperation } from './operation.ts';

/**
 * Two requests to the indexer for one answer are at least this far apart. On a slow machine, requests that were sent at
 * the same time come one after the other, and an answer may be outdated before the last one.
 */
const SHORTEST_LIFETIME_MS: Ms = POLICIES.empty.lifetime;

/** The maximum number of answers of one set that are reported as wrong. */
const MOST_REPORTED = 5;

/** The queries with a hash in a parameter, in all its spellings. */
export function hashQueries(parameter: string, hash: Buffer): string[] {
  const { base64, ...others } = hashSpellings(hash);
  const encoded = encodeURIComponent(base64);
  // With an unencoded plus, and with a plus that a form decoder turned into a space.
  return [encoded, base64, encoded.replaceAll('%2B', '%20'), ...Object.values(others)].map(
    (spelling, at) => `${at % 2 === 0 ? parameter : `${capitalized(parameter)}[]`}=${spelling}`,
  );
}

function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/**
 * Checks that queries with the same meaning give one answer under all names of their path, and cost one request to the
 * indexer.
 */
export async function checkSet(
  run: Run,
  { name, rowsIn }: VerifiedOperation,
  queries: readonly string[],
  statuses: readonly number[] = [200, 404],
): Promise<void> {
  const paths = OPERATIONS.get(name)?.paths ?? [name];
  const targets = queries.map((query, at) => `${paths[at % paths.length]}?${query}`);
  const { answers, upstreamAt } = await run.toncache.askAtOnce(targets);
  const [first] = answers;
  if (first === undefined) return;
  const finding = { check: 'spellings', asked: first.target };
  const excuse = await excuseFor(run, first, statuses);
  if (excuse !== undefined) return run.report.notAsked(finding.check, finding.asked, excuse);

  const wrong = answers.flatMap((it) =>
    inspect(rowsIn, it, statuses).problems.map((problem) => `${it.target}: ${problem}`),
  );
  const problems = [...wrong, ...otherResponses(first, answers, upstreamAt.length)].slice(0, MOST_REPORTED);
  const cost = upstreamAt.length;
  const isEarly = upstreamAt.some((at, place) => at - (upstreamAt[place - 1] ?? -Infinity) < SHORTEST_LIFETIME_MS);
  if (isEarly) problems.push(`they cost ${cost} requests at the indexer`);
  const detail = `${answers.length} spellings cost ${cost}; ${inspect(rowsIn, first, statuses).detail}`;
  run.report.add({ ...finding, problems, detail });
}

/** The problems of responses that differ: a final one never does, and others do after another request to the indexer. */
function otherResponses(first: Answered, answers: readonly Answered[], cost: number): readonly string[] {
  const different = new Set(answers.map(({ status, bytes }) => `${status} ${bytes.toString('base64')}`)).size;
  if (different <= (promiseOf(first.headers) === 'final' ? 1 : Math.max(1, cost))) return [];
  const others = answers.filter(({ status, bytes }) => status !== first.status || !bytes.equals(first.bytes));
  return others.map(({ target }) => `another response for ${target}`);
}
