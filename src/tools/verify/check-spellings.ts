import { OPERATIONS } from '../../ton/operations.ts';
import { hashSpellings } from '../simulator/spellings.ts';
import { excuseFor, inspect, type Run } from './examine.ts';
import type { VerifiedOperation } from './operation.ts';

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
  const answers = await run.toncache.askAtOnce(queries.map((query, at) => `${paths[at % paths.length]}?${query}`));
  const upstreamRequests = Math.max(...answers.map((answer) => answer.upstreamRequests));
  const [first] = answers;
  if (first === undefined) return;
  const finding = { check: 'spellings', asked: first.target };
  const excuse = await excuseFor(run, first, statuses);
  if (excuse !== undefined) return run.report.notAsked(finding.check, finding.asked, excuse);

  const wrong = answers.flatMap((it) =>
    inspect(rowsIn, it, statuses).problems.map((problem) => `${it.target}: ${problem}`),
  );
  const others = answers.filter(({ status, bytes }) => status !== first.status || !bytes.equals(first.bytes));
  const problems = [...wrong, ...others.map(({ target }) => `another answer for ${target}`)].slice(0, MOST_REPORTED);
  if (upstreamRequests > 1) problems.push(`they cost ${upstreamRequests} requests at the indexer`);
  const detail = `${answers.length} spellings cost ${upstreamRequests}; ${inspect(rowsIn, first, statuses).detail}`;
  run.report.add({ ...finding, problems, detail });
}
