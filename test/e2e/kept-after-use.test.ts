import { afterEach, describe, expect, it } from 'vitest';
import { Fleet, type FleetOptions } from '../support/fleet.ts';
import { answeringJson, type JsonAnswer, NO_DATABASE, NOT_FOUND } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

const START = 1_800_000_000_000;
const RETENTION_MS = 10_000;
const LONGEST_SINCE_GIVEN_MS = 60_000;

let fleet: Fleet | undefined;
let answer: JsonAnswer;
let now: number;
/** Different from those of the fleet itself. */
let targets = 0x1000;

const someHash = () => (++targets).toString(16).padStart(64, '0').toUpperCase();

const final = (hash: string) => ({ hash, now: 1_700_000_000, mc_block_seqno: 7, emulated: false });
const pending = (hash: string) => ({ hash, now: 1_700_000_000, mc_block_seqno: null, emulated: true });
const shard = (seqno: number) => ({
  workchain: 0,
  seqno,
  gen_utime: '1700000000',
  masterchain_block_ref: { workchain: -1, seqno: 7 },
});
const listing = (name: string, ...rows: object[]): JsonAnswer => ({ status: 200, body: { [name]: rows } });
const rows = (...list: object[]) => listing('transactions', ...list);
/** A trace with a missing transaction. */
const traceOf = (...list: { readonly hash: string }[]) => {
  const transactions = Object.fromEntries(list.map((row) => [row.hash, row]));
  return listing('traces', { trace_id: 'x', trace_info: { transactions: 9 }, transactions_order: [], transactions });
};

/** A question, its kept answer, a less complete answer, and the time for which the kept one is of use. */
const LIVE: [string, () => string, JsonAnswer, JsonAnswer, number][] = [
  [
    'a 404 after a final child',
    () => `adjacentTransactions?hash=${someHash()}`,
    rows(final('a'), pending('b')),
    NOT_FOUND,
    2400,
  ],
  [
    'only a pending child after a final one',
    () => `adjacentTransactions?hash=${someHash()}&direction=out`,
    rows(final('a'), pending('b')),
    rows(pending('b')),
    2400,
  ],
  [
    'no trace after a trace under way',
    () => `traces?trace_id=${someHash()}`,
    traceOf(final('a')),
    listing('traces'),
    400,
  ],
  [
    'a trace of fewer rows',
    () => `traces?msg_hash=${someHash()}`,
    traceOf(final('a'), final('b')),
    traceOf(final('a')),
    400,
  ],
  [
    'nothing by a message',
    () => `transactionsByMessage?msg_hash=${someHash()}`,
    rows(final('a'), pending('b')),
    rows(),
    400,
  ],
  [
    'no rows of a block',
    () => `blocks?mc_seqno=7&limit=${++targets % 1000}`,
    listing('blocks', shard(1)),
    NOT_FOUND,
    400,
  ],
  [
    'no shard blocks',
    () => `masterchainBlockShards?seqno=7&limit=${++targets % 1000}`,
    listing('blocks', shard(1)),
    NOT_FOUND,
    400,
  ],
  [
    'no page of a block',
    () => `transactionsByMasterchainBlock?seqno=7&limit=${++targets % 1000}`,
    rows(final('a'), pending('b')),
    NOT_FOUND,
    400,
  ],
];

const [A_404] = LIVE as [(typeof LIVE)[number]];

async function start(options: FleetOptions = {}): Promise<Fleet> {
  now = START;
  const started = await Fleet.start(() => answer, {
    instances: 1,
    memoryAlone: true,
    env: { CACHE_OPERATIONS: 'all' },
    now: () => now,
    ...options,
  });
  fleet = started;
  answer = rows(final('a'));
  await started.learnHeads();
  return started;
}

function instanceAt(index: number) {
  if (fleet === undefined) throw new Error('no fleet was started');
  return fleet.get(index);
}

async function leap(ms: number): Promise<void> {
  await Promise.all(fleet?.proxies.map((proxy) => proxy.untilRedisHasAll()) ?? []);
  now += ms;
}

async function ask(target: string, instance = 0) {
  const { status, text, headers, cache } = await instanceAt(instance).reply(`/api/v3/${target}`);
  return { status, text, age: Number(headers['age']), cache };
}

const olderAnswers = (instance = 0) => instanceAt(instance).metric('olderAnswers');

afterEach(async () => {
  await fleet?.[Symbol.asyncDispose]();
  fleet = undefined;
});

describe.each([
  ['one instance with only memory', { instances: 1, memoryAlone: true }],
  ['two instances on one Redis', { instances: 2, memoryAlone: false }],
])('%s: an answer past its stale windows', (_, options) => {
  const last = () => options.instances - 1;

  it.each(LIVE.filter((_, row) => row % 3 === 0))(
    'is served instead of a less complete one for 10 s: %s',
    async (_, someTarget, full, less, usableMs) => {
      await start(options);
      const target = someTarget();
      answer = full;
      const first = await ask(target);
      expect(first.cache).toMatchObject({ stored: true });
      answer = less;
      await leap(usableMs + RETENTION_MS - 1);
      const kept = await ask(target, last());
      expect(kept).toMatchObject({
        status: 200,
        text: first.text,
        age: Math.floor((usableMs + RETENTION_MS - 1) / 1000),
      });
      expect(kept.cache).toEqual({ fwd: 'stale', 'fwd-status': less.status, detail: 'regressed' });
      // It has one more lifetime, and then 10 s more.
      expect((await ask(target, last())).cache).toMatchObject({ hit: true });
      await leap(usableMs + RETENTION_MS);
      expect((await ask(target, last())).text).toBe(JSON.stringify(less.body));
      expect(await olderAnswers(last())).toBe(options.instances === 1 ? 1 : 0);
    },
  );

  it('is served until 60 s after an indexer sent it, and not longer, when polled every 3.5 s', async () => {
    await start(options);
    for (const [, someTarget, full, less] of LIVE) {
      const target = someTarget();
      answer = full;
      await ask(target);
      const startedAt = now;
      answer = less;
      for (let poll = 1; now + 3500 < startedAt + LONGEST_SINCE_GIVEN_MS; poll++) {
        await leap(3500);
        expect((await ask(target, poll % (last() + 1))).text).toBe(JSON.stringify(full.body));
      }
      await leap(startedAt + LONGEST_SINCE_GIVEN_MS - 1 - now);
      expect((await ask(target, last())).text).toBe(JSON.stringify(full.body));
      await leap(1);
      expect((await ask(target, 0)).text).toBe(JSON.stringify(less.body));
      expect((await ask(target, last())).text).toBe(JSON.stringify(less.body));
    }
  });
});

describe('an answer past its stale windows', () => {
  it('is neither a hit nor served when the indexer fails', async () => {
    await start();
    for (const [which, someTarget, full, , usableMs] of LIVE) {
      const target = someTarget();
      answer = full;
      await ask(target);
      answer = NO_DATABASE;
      await leap(usableMs);
      const failed = { status: 500, cache: { fwd: 'miss', detail: 'upstream-error' } };
      expect(await ask(target), which).toMatchObject(failed);
    }
  });

  it('is served instead of a less complete one, and replaced by a more complete one immediately', async () => {
    await start();
    const target = A_404[1]();
    answer = rows(final('a'), pending('b'));
    await ask(target);
    answer = NOT_FOUND;
    await leap(5000);
    expect((await ask(target)).status).toBe(200);
    answer = rows(final('a'), final('c'), pending('b'));
    await leap(5000);
    expect((await ask(target)).text).toBe(JSON.stringify(answer.body));
    expect(await olderAnswers()).toBe(0);
  });

  it('is not compared with answers after a purge', async () => {
    await start();
    const hash = someHash();
    const target = `adjacentTransactions?hash=${hash}`;
    answer = rows(final('a'), pending('b'));
    await ask(target);
    await leap(5000);
    const asking = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ hash }) };
    expect((await instanceAt(0).askAdmin('/purge', asking)).status).toBe(200);
    now += 1;
    answer = NOT_FOUND;
    expect(await ask(target)).toMatchObject({ status: 404, cache: { fwd: 'miss', stored: true } });
  });

  it('of pending traces is not kept: the latest answer is right', async () => {
    await start();
    const target = `pendingTraces?ext_msg_hash=${someHash()}`;
    answer = traceOf(final('a'), pending('b'));
    await ask(target);
    answer = listing('traces');
    await leap(2400);
    expect(await ask(target)).toMatchObject({
      text: JSON.stringify(answer.body),
      cache: { fwd: 'miss', stored: true },
    });
  });

  it('with only pending rows is not kept', async () => {
    await start();
    const target = A_404[1]();
    answer = rows(pending('b'));
    await ask(target);
    answer = NOT_FOUND;
    await leap(2400);
    expect(await ask(target)).toMatchObject({ status: 404, cache: { fwd: 'miss', stored: true } });
  });

  it('is served, once extended, when the indexer fails, but not after the 60 s', async () => {
    await start();
    const target = A_404[1]();
    answer = rows(final('a'), pending('b'));
    await ask(target);
    answer = NOT_FOUND;
    for (let poll = 0; poll < 6; poll++) {
      await leap(9900);
      expect((await ask(target)).status).toBe(200);
    }
    answer = NO_DATABASE;
    await leap(599);
    expect((await ask(target)).status).toBe(200);
    await leap(1);
    expect((await ask(target)).status).toBe(500);
  });

  it('is served beyond the 60 s if regressed answers came before its stale windows ended', async () => {
    await start();
    const target = A_404[1]();
    answer = rows(final('a'), pending('b'));
    await ask(target);
    answer = NOT_FOUND;
    for (let second = 0; second < 120; second++) {
      await leap(1000);
      expect((await ask(target)).status).toBe(200);
    }
  });
});

describe('of two answers with the same rows, the one whose account state is filled in', () => {
  const row = { ...final('a'), account_state_before: { hash: 's', balance: null } };
  const filled = { ...final('a'), account_state_before: { hash: 's', balance: '5' } };

  it.each<[string, string, (hash: string, row: object) => JsonAnswer, number]>([
    ['adjacent transactions', 'adjacentTransactions?hash=', (_, row) => rows(row), 5 * 60_000],
    ['a parent', 'adjacentTransactions?direction=in&hash=', (_, row) => rows(row), 65 * 60_000],
    ['a transaction', 'transactions?hash=', (hash, row) => rows({ ...row, hash: inBase64(hash) }), 65 * 60_000],
  ])('is not replaced by the other: %s', async (_, question, answerOf, staleAfterMs) => {
    await start();
    const hash = someHash();
    const target = question + hash;
    const isYoung = { now: Math.floor(now / 1000) };
    answer = answerOf(hash, { ...row, ...isYoung });
    await ask(target);
    answer = answerOf(hash, { ...filled, ...isYoung });
    await leap(2000);
    await ask(target);
    await expect.poll(async () => (await ask(target)).text).toBe(JSON.stringify(answer.body));
    const { text } = await ask(target);
    answer = answerOf(hash, { ...row, ...isYoung });
    await leap(staleAfterMs);
    expect((await ask(target)).text).toBe(text);
    await expect.poll(async () => (await ask(target)).cache['ttl']).toBeGreaterThanOrEqual(0);
    expect((await ask(target)).text).toBe(text);
  });
});

const inBase64 = (hash: string) => Buffer.from(hash, 'hex').toString('base64');

describe('with a second indexer, a less complete answer', () => {
  /** Two indexers with equal heads; the n-th request other than a head poll gets the n-th answer, at either of them. */
  async function twoIndexers(...answers: JsonAnswer[]) {
    now = Date.now();
    const asked: string[] = [];
    const start = (name: string) =>
      startScriptedUpstream(answeringJson(() => answers[asked.push(name) - 1] ?? NO_DATABASE, 1000));
    const [one, other] = [await start('one'), await start('other')];
    const proxy = await startProxy({ upstreamUrl: `${one.url},${other.url}`, now: () => now });
    return {
      proxy,
      asked,
      [Symbol.asyncDispose]: async () => {
        await proxy[Symbol.asyncDispose]();
        for (const each of [one, other]) await each[Symbol.asyncDispose]();
      },
    };
  }

  const full = rows(final('a'), pending('b'));

  it.each([
    ['while the kept one is usable', 1000],
    ['after the stale windows of the kept one', 5000],
  ])('makes toncache request the other indexer first, %s', async (_, passedMs) => {
    const fuller = rows(final('a'), final('c'), pending('b'));
    await using world = await twoIndexers(full, NOT_FOUND, fuller);
    const target = `/api/v3/adjacentTransactions?hash=${someHash()}`;
    await world.proxy.ask(target);
    now += passedMs;
    expect(await world.proxy.reply(target)).toMatchObject({
      text: JSON.stringify(fuller.body),
      cache: { stored: true },
    });
    expect(new Set(world.asked.slice(1)).size).toBe(2);
    expect(world.asked).toHaveLength(3);
  });

  it('is replaced by the kept one if the other indexer has no more complete answer', async () => {
    await using world = await twoIndexers(full, rows(pending('b')), NOT_FOUND);
    const target = `/api/v3/adjacentTransactions?hash=${someHash()}`;
    await world.proxy.ask(target);
    now += 5000;
    const { text, cache } = await world.proxy.reply(target);
    expect(text).toBe(JSON.stringify(full.body));
    // Of the two answers the more complete one counts.
    expect(cache).toEqual({ fwd: 'stale', 'fwd-status': 200, detail: 'regressed' });
    expect(world.asked).toHaveLength(3);
  });
});
