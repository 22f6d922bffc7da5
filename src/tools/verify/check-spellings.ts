import { randomBytes } from 'node:crypto';
import type { OperationName } from '../../ton/operations.ts';
import { addressSpellings, decodeAddress, decodeHash, hashSpellings } from '../simulator/spellings.ts';
import { isUnchanged } from './bodies.ts';
import { excuseFor, inspect, type Run } from './examine.ts';
import type { ChainSample } from './learn-chain.ts';

/** The most answers of one set that are reported as wrong. */
const MOST_REPORTED = 5;

/** Checks that all spellings of a hash, an account and a set of hashes give one answer and cost one request. */
export async function checkSpellings(run: Run, { transactions }: ChainSample): Promise<void> {
  // Choose one with a parent, so that there is an answer to compare.
  const chosen = transactions.find(({ hasParent }) => hasParent) ?? transactions[0];
  const [hash, account] = [decodeHash(chosen?.hash ?? ''), decodeAddress(chosen?.account ?? '')];
  if (hash === undefined || account === undefined) {
    run.report.notAsked('spellings', 'a hash, an account, a set of hashes', 'no transaction was found');
    return;
  }
  await checkSet(run, 'adjacentTransactions', hashQueries(hash));
  await checkIndexerAgrees(run, hash);
  const accountQueries = Object.values(addressSpellings(account)).map((spelling) => `account=${spelling}`);
  await checkSet(run, 'pendingTraces', accountQueries);
  const [a, b] = [hashSpellings(hash), hashSpellings(randomBytes(32))];
  await checkSet(run, 'pendingTraces', [
    `ext_msg_hash=${a.hex}&ext_msg_hash=${b.hexPrefixed}`,
    `ext_msg_hash=${b.base64url},${a.base64urlUnpadded}`,
    `ext_msg_hash[0]=${b.hexUpper}&ext_msg_hash[1]=${a.hex}&ext_msg_hash[2]=${b.hex}`,
  ]);
}

function hashQueries(hash: Buffer): string[] {
  const { base64, ...others } = hashSpellings(hash);
  const encoded = encodeURIComponent(base64);
  // With an unencoded plus, and with a plus that a form decoder turned into a space.
  return [encoded, base64, encoded.replaceAll('%2B', '%20'), ...Object.values(others)].map(
    (spelling, at) => `${at % 2 === 0 ? 'hash' : 'Hash[]'}=${spelling}`,
  );
}

async function checkSet(run: Run, operation: OperationName, queries: readonly string[]): Promise<void> {
  const statuses = [200, 404];
  const answers = await run.toncache.askAtOnce(queries.map((query) => `${operation}?${query}`));
  const upstreamRequests = Math.max(...answers.map((answer) => answer.upstreamRequests));
  const [first] = answers;
  if (first === undefined) return;
  const finding = { check: 'spellings', asked: first.target };
  const excuse = await excuseFor(run, first, statuses);
  if (excuse !== undefined) return run.report.notAsked(finding.check, finding.asked, excuse);

  const wrong = answers.flatMap((it) =>
    inspect(operation, it, statuses).problems.map((problem) => `${it.target}: ${problem}`),
  );
  const others = answers.filter(({ status, bytes }) => status !== first.status || !bytes.equals(first.bytes));
  const problems = [...wrong, ...others.map(({ target }) => `another answer for ${target}`)].slice(0, MOST_REPORTED);
  if (upstreamRequests > 1) problems.push(`they cost ${upstreamRequests} requests at the indexer`);
  const detail = `${answers.length} spellings cost ${upstreamRequests}; ${inspect(operation, first, statuses).detail}`;
  run.report.add({ ...finding, problems, detail });
}

/** Checks that other spellings mean the same to the indexer as the canonical one, the only one that toncache sends. */
async function checkIndexerAgrees(run: Run, hash: Buffer): Promise<void> {
  const { base64, hex, base64url } = hashSpellings(hash);
  const target = (spelling: string) => `adjacentTransactions?direction=in&hash=${encodeURIComponent(spelling)}`;
  const answered = await run.toncache.ask(target(base64));
  const problems: string[] = [];
  for (const spelling of [hex, base64url]) {
    const direct = await run.indexer.ask(target(spelling));
    if (direct.status !== answered.status || !isUnchanged(answered.body, direct.body)) {
      problems.push(`the indexer has another answer for ${spelling} (status ${direct.status})`);
    }
  }
  run.report.add({ check: 'canonical spelling', asked: target(base64), problems, detail: `${answered.status}` });
}
