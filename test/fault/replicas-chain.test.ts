import { describe, expect, it, vi } from 'vitest';
import { failed, withoutBlocks } from '../../src/tools/simulator/faults.ts';
import type { Indexer } from '../../src/tools/simulator/indexer.ts';
import type { Answered } from '../support/http-client.ts';
import { GUARD_MS } from '../support/patience.ts';
import { Replicas } from './replicas.ts';

const RIGHT = [200];
const statuses = (answers: readonly Answered[]) => [...new Set(answers.map(({ status }) => status))];
const sumOf = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0);
const shards = { operation: 'masterchainBlockShards' } as const;
const info = { operation: 'masterchainInfo' } as const;
const WAITING = { timeout: GUARD_MS, interval: 2 };

/** All indexers have had blocks this far below the newest one for a while. */
const OLD_BLOCKS = 200;

/** Makes the proxy compare the heads again: a request starts a round, and this waits for its end. */
async function untilCompared(replicas: Replicas, isSo: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(
      async () => {
        await replicas.askOneByOne(1);
        return await isSo();
      },
      { interval: 50 },
    )
    .toBe(true);
}

describe('of two indexers, one with the newest head', () => {
  it.each([404, 422] as const)(
    'has no history and answers %i immediately: clients get the block, and it gets no more requests',
    async (status) => {
      const prepare = ([first]: Indexer[]) => void first?.faults.inject(withoutBlocks(status), shards);
      await using replicas = await Replicas.start({ prepare });
      const old = replicas.newestSeqno - OLD_BLOCKS;
      for (let time = 0; time < 40; time++) {
        expect((await replicas.proxy.ask(replicas.freshPage(old - (time % 10)))).status).toBe(200);
      }
      // After the first answer that the other indexer refutes, it gets no more requests.
      expect(replicas.asked[0]).toBe(1);
      expect(await replicas.conditionOf(0, 'lacks-block')).toBe(1);
      await expect
        .poll(() => replicas.proxy.log.map(({ msg }) => msg))
        .toContainEqual(expect.stringContaining('lacks a block of its own'));
    },
  );

  it('reports a short history: it gets no requests for blocks below it, but requests for others', async () => {
    const prepare = (indexers: Indexer[]) => {
      const [first] = indexers;
      const floor = (first?.chain.headSeqno ?? 0) - 50;
      first?.faults.inject({ kind: 'head', first: floor }, info);
    };
    await using replicas = await Replicas.start({ prepare, stopsTime: true });
    const askAtOnce = (seqno: number) =>
      Promise.all(Array.from({ length: 30 }, () => replicas.proxy.ask(replicas.freshPage(seqno))));
    const slow = replicas.indexers[1]?.hold('masterchainBlockShards');
    const answers = askAtOnce(replicas.newestSeqno - OLD_BLOCKS);
    await slow?.arrived(30);
    expect(replicas.asked).toEqual([0, 30]);
    replicas.advance(1000);
    slow?.release();
    expect(statuses(await answers)).toEqual(RIGHT);
    // From now on the other one is the faster one.
    expect(statuses(await askAtOnce(replicas.newestSeqno - 20))).toEqual(RIGHT);
    expect(replicas.asked).toEqual([30, 30]);
  });

  it('reports a short history, and the other one cannot answer: no client gets its 404', async () => {
    const prepare = ([first, second]: Indexer[]) => {
      first?.faults.inject({ kind: 'head', first: first.chain.headSeqno - 50 }, info);
      first?.faults.inject(withoutBlocks(), shards);
      second?.faults.inject(failed(500), shards);
    };
    await using replicas = await Replicas.start({ prepare });
    const old = replicas.newestSeqno - OLD_BLOCKS;
    for (let time = 0; time < 10; time++) {
      expect((await replicas.proxy.ask(replicas.freshPage(old))).status).toBe(500);
    }
    expect(replicas.asked[0]).toBe(0);
  });
});

it('if the history of one of two indexers is shorter, the status page names it and its first block', async () => {
  const prepare = ([first, second]: Indexer[]) => {
    first?.faults.inject({ kind: 'head', first: 1 }, info);
    second?.faults.inject({ kind: 'head', first: 1002 }, info);
  };
  await using replicas = await Replicas.start({ prepare });
  const said = `127.0.0.1:${replicas.ports[1]}'s history begins at block 1002: give all indexers the same history`;
  await expect
    .poll(async () => JSON.parse((await replicas.proxy.askAdmin('/status.json')).text).conditions)
    .toContainEqual(expect.objectContaining({ name: 'short-history', level: 'note', says: said }));
});

it('a block that no indexer has is requested once: below all histories, and beyond all heads', async () => {
  const prepare = (indexers: Indexer[]) => {
    for (const { faults, chain } of indexers) faults.inject({ kind: 'head', first: chain.headSeqno - 50 }, info);
    for (const { faults } of indexers) faults.inject(withoutBlocks(), shards);
  };
  await using replicas = await Replicas.start({ prepare });
  for (const seqno of [replicas.newestSeqno - OLD_BLOCKS, replicas.newestSeqno + 10_000]) {
    const before = sumOf(replicas.asked);
    for (let time = 0; time < 200; time++) {
      expect((await replicas.proxy.ask(replicas.freshPage(seqno))).status).toBe(404);
    }
    expect(sumOf(replicas.asked) - before).toBe(200);
  }
});

it('an empty page of a block that both indexers have is requested once', async () => {
  await using replicas = await Replicas.start({}, { env: { CACHE_OPERATIONS: 'all' } });
  const old = replicas.newestSeqno - 20;
  for (let page = 0; page < 20; page++) {
    const target = `/api/v3/transactionsByMasterchainBlock?seqno=${old - page}&offset=900`;
    expect((await replicas.proxy.ask(target)).text).toContain('"transactions":[]');
  }
  const askedAt = replicas.indexers.map(({ requests }) => requests.count('transactionsByMasterchainBlock'));
  expect(sumOf(askedAt)).toBe(20);
});

describe('masterchainInfo, with several indexers', () => {
  const CACHED = { env: { CACHE_OPERATIONS: 'masterchainInfo' } };
  const BLOCK_MS = 400;
  const INFO = '/api/v3/masterchainInfo';
  const seqnoOf = ({ text }: Answered): number => JSON.parse(text).last.seqno;

  it('is requested from the one with the newest block, even if another one that is 4 s behind is less busy', async () => {
    const prepare = ([first]: Indexer[]) => first?.replicas[0].lag(4000);
    await using replicas = await Replicas.start({ prepare, stopsTime: true }, CACHED);
    expect(await replicas.metricOf(0, 'lag_blocks')).toBe(10);
    expect(await replicas.metricOf(0, 'behind')).toBe(0);
    // Its request for a block that only the second one has keeps that one busy all the time.
    const busy = replicas.indexers[1]?.hold('masterchainBlockShards');
    const asked = replicas.proxy.ask(replicas.freshPage(replicas.newestSeqno));
    await busy?.arrived(1);
    for (let block = 0; block < 15; block++) {
      replicas.advance(BLOCK_MS);
      const refreshed = await vi.waitFor(async () => {
        const reply = await replicas.proxy.reply(INFO);
        expect(reply.cache['ttl'] ?? 0).toBeGreaterThanOrEqual(0);
        return reply;
      }, WAITING);
      expect(seqnoOf(refreshed)).toBe(replicas.newestSeqno);
    }
    busy?.release();
    expect((await asked).status).toBe(200);
  });

  it('is requested from the other one while the one with the newest block fails', async () => {
    const prepare = ([first, second]: Indexer[]) => {
      first?.replicas[0].lag(2000);
      second?.faults.inject(failed(500), info);
    };
    await using replicas = await Replicas.start({ prepare, stopsTime: true }, CACHED);
    const answers: Answered[] = [];
    for (let time = 0; time < 8; time++) {
      answers.push(await replicas.proxy.ask(INFO));
      replicas.advance(BLOCK_MS / 2);
    }
    expect(statuses(answers)).toEqual(RIGHT);
  });
});

it('if one of three indexers hangs and one is far behind, no answer is outdated, not even the first one', async () => {
  const prepare = ([, second, third]: Indexer[]) => {
    second?.replicas[0].lag(60_000);
    third?.faults.inject({ kind: 'hang' });
  };
  await using replicas = await Replicas.start({ count: 3, prepare });
  const targets = replicas.youngParents(100).slice(0, 20);
  for (const target of targets) expect((await replicas.proxy.ask(target)).status).toBe(200);
  expect([targets.length, await replicas.metricOf(1, 'behind')]).toEqual([20, 1]);
});

it('if one of two indexers stops at a block and its lag is known, newer transactions are found', async () => {
  await using replicas = await Replicas.start({});
  for (const { faults } of replicas.indexers) faults.latencyMs = 5;
  await replicas.askAtOnce(10);
  replicas.indexers[0]?.replicas[0].lag(Number.POSITIVE_INFINITY);
  await untilCompared(replicas, async () => (await replicas.metricOf(0, 'lag_blocks')) >= 2);
  const targets = replicas.youngParents(2);
  expect(targets.length).toBeGreaterThan(0);
  expect(statuses(await Promise.all(targets.map((target) => replicas.proxy.ask(target))))).toEqual(RIGHT);
});

describe('when the database of one of two indexers is five blocks behind', () => {
  const prepare = ([first]: Indexer[]) => first?.replicas[0].lagDatabase(2000);
  const pendingAsked = ({ indexers }: Replicas) =>
    sumOf(indexers.map(({ requests }) => requests.count('pendingTraces')));

  it('no answer shows an ended trace as pending', async () => {
    await using replicas = await Replicas.start({ prepare });
    const shown: string[] = [];
    let asked = 0;
    for (let time = 0; time < 20; time++) {
      const answers = await Promise.all(replicas.endedTraces(1500).map((target) => replicas.proxy.ask(target)));
      asked += answers.length;
      shown.push(...answers.filter(({ text }) => !text.includes('"traces":[]')).map(({ text }) => text));
    }
    expect(asked).toBeGreaterThan(20);
    expect(shown).toEqual([]);
  });

  it('a trace that is not final yet is requested once', async () => {
    await using replicas = await Replicas.start({ prepare });
    const { young, asked } = await vi.waitFor(
      async () => {
        const targets = replicas.youngTraces(300);
        expect(targets.length).toBeGreaterThan(1);
        const before = pendingAsked(replicas);
        const answers = await Promise.all(targets.map((target) => replicas.proxy.ask(target)));
        // On a busy machine a trace may be final by now. Then the next attempt, a second later, uses the young traces
        // of that time.
        expect(answers.filter(({ text }) => text.includes('"emulated":true'))).toHaveLength(targets.length);
        return { young: targets.length, asked: pendingAsked(replicas) - before };
      },
      { timeout: GUARD_MS, interval: 1000 },
    );
    expect(asked).toBe(young);
  });
});

describe('when one of two indexers follows another chain', () => {
  const follow = (place: number) => (indexers: Indexer[]) =>
    void indexers[place]?.faults.inject({ kind: 'head', globalId: -3 }, info);

  it.each([0, 1])('it is not used, at any place in the list (%i), and the log reports it', async (place) => {
    await using replicas = await Replicas.start({ prepare: follow(place) });
    // The indexer that answers first may be accepted as the reference until the other one has answered.
    await untilCompared(replicas, async () => (await replicas.conditionOf(place, 'other-chain')) === 1);
    const before = replicas.asked[place];
    expect(statuses(await replicas.askAtOnce(20))).toEqual(RIGHT);
    expect(replicas.asked[place]).toBe(before);
    expect(await replicas.conditionOf(1 - place, 'other-chain')).toBe(0);
    const lines = () => replicas.proxy.log.map(({ msg }) => msg);
    await expect.poll(lines).toContainEqual(expect.stringContaining('follows another chain'));
  });

  it('it is not used either if the other one cannot be reached', async () => {
    await using replicas = await Replicas.start({ prepare: follow(0) }, { env: { NETWORK: 'mainnet' } });
    const before = replicas.asked[0];
    await replicas.indexers[1]?.close();
    expect(statuses(await replicas.askOneByOne(5))).toEqual([502]);
    expect(replicas.asked[0]).toBe(before);
  });
});
