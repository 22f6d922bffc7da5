import { afterEach, describe, expect, it } from 'vitest';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type InputsWorld, startInputsWorld, VERSIONS } from './inputs-world.ts';

let world: InputsWorld;

async function start(dialect: Dialect): Promise<void> {
  world = await startInputsWorld(dialect);
}

afterEach(() => world.indexer.close());

const asked: InputsWorld['asked'] = (target, headers) => world.asked(target, headers);

describe('the inputs that the versions read differently', () => {
  it('are seqno given twice: the first in 1.2, the last in 1.3', async () => {
    for (const dialect of VERSIONS) {
      await start(dialect);
      const [first, last] = [
        await asked(`masterchainBlockShards?seqno=${world.seqno}`),
        await asked(`masterchainBlockShards?seqno=${world.seqno - 1}`),
      ];
      const twice = await asked(`masterchainBlockShards?seqno=${world.seqno}&seqno=${world.seqno - 1}`);
      expect(twice).toBe(dialect === '1.2' ? first : last);
      if (dialect === '1.2') await world.indexer.close();
    }
  });

  it('are a seqno in other spellings: 1.2 reads it by its exact name, and wraps what is no int32', async () => {
    await start('1.2');
    const plain = await asked(`masterchainBlockShards?seqno=${world.seqno}`);
    expect(await asked(`masterchainBlockShards?seqno=${2 ** 32 + world.seqno}`)).toBe(plain);
    for (const query of [
      `SEQNO=${world.seqno}`,
      `seqno[]=${world.seqno}`,
      'seqno=many',
      'seqno=',
      '',
      `seqno=${2 ** 63}`,
    ]) {
      expect([query, await asked(`masterchainBlockShards?${query}`)]).toEqual([
        query,
        '404 {"error":"blocks not found"}',
      ]);
    }
    await world.indexer.close();
    await start('1.3');
    for (const query of [`SEQNO=${world.seqno}`, `seqno[]=${world.seqno}`, `seqno=0${world.seqno}`]) {
      expect([query, await asked(`masterchainBlockShards?${query}`)]).toEqual([query, plain]);
    }
    for (const query of ['seqno=many', `seqno=${2 ** 31}`]) {
      expect(await asked(`masterchainBlockShards?${query}`)).toMatch(/^422 /);
    }
    expect(await asked('masterchainBlockShards?seqno=')).toMatch(/^404 /);
  });

  it('is sort: 1.2 alone reads it, in short forms too, and fails at words that it does not know', async () => {
    await start('1.2');
    const target = `masterchainBlockShards?seqno=${world.seqno}`;
    const [plain, ascending] = [await asked(target), await asked(`${target}&sort=asc`)];
    expect(ascending).not.toBe(plain);
    for (const word of ['a', 'ASC', 'desc&sort=asc']) expect(await asked(`${target}&sort=${word}`)).toBe(ascending);
    for (const word of ['', 'desc', 'D']) expect(await asked(`${target}&sort=${word}`)).toBe(plain);
    expect(await asked(`${target}&sort=up`)).toMatch(/^500 /);
    await world.indexer.close();
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
      if (dialect === '1.2') await world.indexer.close();
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
      `adjacentTransactions?hash=${world.hash}&direction=both`,
      'masterchainBlockShards',
      `masterchainBlockShards?seqno=${world.seqno}&limit=0`,
      `masterchainBlockShards?seqno=${world.seqno}&limit=`,
      `masterchainBlockShards?seqno=${world.seqno}&offset=-1`,
      'pendingTraces?ext_msg_hash=',
      `pendingTraces?ext_msg_hash=${world.message},`,
    ]) {
      expect([target, (await asked(target)).slice(0, 3)]).toEqual([target, '422']);
    }
  });
});
