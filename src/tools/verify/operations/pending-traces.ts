import { randomBytes } from 'node:crypto';
import { addressSpellings, decodeAddress, decodeHash, hashSpellings } from '../../simulator/spellings.ts';
import { listed } from '../bodies.ts';
import { checkSet } from '../check-spellings.ts';
import { examine, type Run, unkeepable } from '../examine.ts';
import { type ChainSample, lookBack, type SampledTransaction } from '../learn-chain.ts';
import type { VerifiedOperation } from '../operation.ts';

const rowsIn = listed('traces');

/** Checks the spellings of an account and of a set of hashes, and the pending traces of busy accounts. */
async function check(run: Run, sample: ChainSample): Promise<void> {
  await checkSpellings(run, sample);
  await checkPending(run);
}

async function checkSpellings(run: Run, { chosen }: ChainSample): Promise<void> {
  const [hash, account] = [decodeHash(chosen?.hash ?? ''), decodeAddress(chosen?.account ?? '')];
  if (hash === undefined || account === undefined) {
    run.report.notAsked('spellings', 'an account, a set of hashes', 'no transaction was found');
    return;
  }
  const accountQueries = Object.values(addressSpellings(account)).map((spelling) => `account=${spelling}`);
  await checkSet(run, pendingTraces, accountQueries);
  const [a, b] = [hashSpellings(hash), hashSpellings(randomBytes(32))];
  await checkSet(run, pendingTraces, [
    `ext_msg_hash=${a.hex}&ext_msg_hash=${b.hexPrefixed}`,
    `ext_msg_hash=${b.base64url},${a.base64urlUnpadded}`,
    `ext_msg_hash[0]=${b.hexUpper}&ext_msg_hash[1]=${a.hex}&ext_msg_hash[2]=${b.hex}`,
  ]);
}

/** Checks pending traces of recently busy accounts: clients must never keep such an answer. */
async function checkPending(run: Run): Promise<void> {
  const { samples } = run;
  const accountsOf = (found: readonly SampledTransaction[]) => [...new Set(found.map(({ account }) => account))];
  const transactions = await lookBack(run.indexer, 0, (found) => accountsOf(found).length >= samples);
  const accounts = accountsOf(transactions).slice(-samples);
  if (accounts.length === 0) run.report.notAsked('pending', 'pendingTraces?account=', 'no transaction was found');
  for (const account of accounts) {
    const target = `pendingTraces?account=${account}`;
    await examine(run, { check: 'pending', rowsIn, target, statuses: [200], problemsOf: unkeepable });
  }
}

export const pendingTraces: VerifiedOperation = {
  name: 'pendingTraces',
  rowsIn,
  badInput: [
    ['', 'account'],
    ['account=', 'account'],
    ['account=EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'account'],
    ['account=200:00', 'account'],
    ['ext_msg_hash=abc', 'ext_msg_hash'],
  ],
  unknown: (hash) => `ext_msg_hash=${encodeURIComponent(hash)}`,
  check,
};
