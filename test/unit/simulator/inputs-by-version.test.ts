import { afterEach, describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { type Asking, ask } from './ask-indexer.ts';

const START = 1_800_000_000_000;
/** The versions of the indexer that exist. */
const VERSIONS: readonly Dialect[] = ['1.2', '1.3'];

let indexer: Indexer;
let present = START;
/** The canonical hash of a large trace that is pending, percent-encoded. */
let message = '';
/** A transaction with a parent and with children, and the newest masterchain block. */
let hash = '';
let seqno = 0;

async function start(dialect: Dialect): Promise<void> {
  present = START + 60 * 400;
  indexer = await startIndexer({ dialect, chain: new Chain({ startAt: START }), now: () => present });
  const { chain } = indexer;
  const middle = chain
    .recentTraces(200)
    .flatMap(({ transactions }) => transactions)
    .find((transaction) => chain.parent(transaction.hash) !== undefined && chain.children(transaction.hash).length > 0);
  let trace = chain.trace(chain.send());
  while (trace !== undefined && trace.transactions.length < 6) trace = chain.trace(chain.send());
  if (middle === undefined || trace === undefined) throw new Error('the chain is empty');
  hash = encodeURIComponent(middle.hash);
  message = encodeURIComponent(trace.externalHash);
  present = trace.emulatedAt;
  seqno = chain.headSeqno;
}

afterEach(() => indexer.close());

async function asked(target: string, headers: Asking['headers'] = {}): Promise<string> {
  const { status, text } = await ask(indexer, `/api/v3/${target}`, { headers });
  return `${status} ${text}`;
}

describe('the inputs that the versions read differently', () => {
  it('are seqno given twice: the first in 1.2, the last in 1.3', async () => {
    for (const dialect of VERSIONS) {
      await start(dialect);
      const [first, last] = [
        await asked(`masterchainBlockShards?seqno=${seqno}`),
        await asked(`masterchainBlockShards?seqno=${seqno - 1}`),
      ];
      const twice = await asked(`masterchainBlockShards?seqno=${seqno}&seqno=${seqno - 1}`);
      expect(twice).toBe(dialect === '1.2' ? first : last);
      if (dialect === '1.2') await indexer.close();
    }
  });

  it('are a seqno in other spellings: 1.2 reads it by its exact name, and wraps what is no int32', async () => {
    await start('1.2');
    const plain = await asked(`masterchainBlockShards?seqno=${seqno}`);
    expect(await asked(`masterchainBlockShards?seqno=${2 ** 32 + seqno}`)).toBe(plain);
    for (const query of [`SEQNO=${seqno}`, `seqno[]=${seqno}`, 'seqno=many', 'seqno=', '', `seqno=${2 ** 63}`]) {
      expect([query, await asked(`masterchainBlockShards?${query}`)]).toEqual([
        query,
        '404 {"error":"blocks not found"}',
      ]);
    }
    await indexer.close();
    await start('1.3');
    for (const query of [`SEQNO=${seqno}`, `seqno[]=${seqno}`, `seqno=0${seqno}`]) {
      expect([query, await asked(`masterchainBlockShards?${query}`)]).toEqual([query, plain]);
    }
    for (const query of ['seqno=many', `seqno=${2 ** 31}`]) {
      expect(await asked(`masterchainBlockShards?${query}`)).toMatch(/^422 /);
    }
    expect(await asked('masterchainBlockShards?seqno=')).toMatch(/^404 /);
  });

  it('is sort: 1.2 alone reads it, in short forms too, and fails at words that it does not know', async () => {
    await start('1.2');
    const target = `masterchainBlockShards?seqno=${seqno}`;
    const [plain, ascending] = [await asked(target), await asked(`${target}&sort=asc`)];
    expect(ascending).not.toBe(plain);
    for (const word of ['a', 'ASC', 'desc&sort=asc']) expect(await asked(`${target}&sort=${word}`)).toBe(ascending);
    for (const word of ['', 'desc', 'D']) expect(await asked(`${target}&sort=${word}`)).toBe(plain);
    expect(await asked(`${target}&sort=up`)).toMatch(/^500 /);
    await indexer.close();
    await start('1.3');
    for (const word of ['asc', 'up', '']) expect(await asked(`${target}&sort=${word}`)).toBe(plain);
  });

  it('are hashes: 1.2 takes no unpadded base64, no 0X, and does not look how long 44 characters are', async () => {
    const spellings = ['A'.repeat(43), `0X${'ab'.repeat(32)}`, 'A'.repeat(44)];
    const statuses: string[][] = [];
    for (const dialect of VERSIONS) {
      await start(dialect);
      const answers = await Promise.all(spellings.map((spelling) => asked(`adjacentTransactions?hash=${spelling}`)));
      statuses.push(answers.map((answer) => answer.slice(0, 3)));
      if (dialect === '1.2') await indexer.close();
    }
    expect(statuses).toEqual([
      ['422', '422', '404'],
      ['404', '404', '422'],
    ]);
  });
});

describe('the specification, where the versions tolerate an input', () => {
  it('refuses it with 422', async () => {
    await start('spec');
    for (const target of [
      'adjacentTransactions',
      `adjacentTransactions?hash=${hash}&direction=both`,
      'masterchainBlockShards',
      `masterchainBlockShards?seqno=${seqno}&limit=0`,
      `masterchainBlockShards?seqno=${seqno}&limit=`,
      `masterchainBlockShards?seqno=${seqno}&offset=-1`,
      'pendingTraces?ext_msg_hash=',
      `pendingTraces?ext_msg_hash=${message},`,
    ]) {
      expect([target, (await asked(target)).slice(0, 3)]).toEqual([target, '422']);
    }
  });
});
