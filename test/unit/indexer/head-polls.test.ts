import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { overloaded, ProxyError } from '../../../src/errors.ts';
import { Head, type HeadFault } from '../../../src/indexer/head.ts';
import { HeadPolls } from '../../../src/indexer/head-polls.ts';
import type { UpstreamAnswer, UpstreamRequest } from '../../../src/indexer/upstream-client.ts';

const START = 1_800_000_000_000;
const NEWEST = 62_000_000;
const BLOCK_MS = 400;

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => void vi.useRealTimers());

const listOf = (seqno: number) => ({
  blocks: [
    { workchain: -1, seqno, gen_utime: '1' },
    { workchain: 0, seqno: 9e8 },
  ],
});
const NOT_FOUND = { status: 404, body: { error: 'blocks not found' } };

type Said = { readonly status: number; readonly body: unknown } | ProxyError | undefined;

/** The head of one indexer whose chain makes a block every 0.4 s, with a record of the requests. */
function oneHead({
  maySend = () => true,
  first,
  askEveryMs = 10_000,
}: {
  maySend?: () => boolean;
  first?: number;
  askEveryMs?: number;
} = {}) {
  const seqnoNow = () => NEWEST + Math.floor((Date.now() - START) / BLOCK_MS);
  const indexer = {
    seqno: seqnoNow,
    globalId: -239 as number | undefined,
    /** The answer to the request for a block; `undefined`: the block. */
    block: (_seqno: number): Said | Promise<Said> => undefined,
    head: (said: Said): Said | Promise<Said> => said,
  };
  /** The requested blocks, or 'head' for a head poll, each with its time in seconds after the start. */
  const asked: [seconds: number, what: number | 'head'][] = [];
  const faults: (HeadFault | undefined)[] = [];
  const whys: string[] = [];
  /** The status of each head poll that named no head. */
  const unnamed: (number | undefined)[] = [];
  const paused: (number | undefined)[] = [];
  const fetch = async ({ operation, query }: UpstreamRequest): Promise<UpstreamAnswer> => {
    const isHead = operation === 'masterchainInfo';
    const seqno = Number(query[0]?.[1]);
    asked.push([(Date.now() - START) / 1000, isHead ? 'head' : seqno]);
    const last = {
      seqno: indexer.seqno(),
      gen_utime: String(Math.floor(Date.now() / 1000)),
      global_id: indexer.globalId,
    };
    const truth = { status: 200, body: { last, ...(first !== undefined && { first: { seqno: first } }) } };
    const said = isHead
      ? await indexer.head(truth)
      : ((await indexer.block(seqno)) ?? { status: 200, body: listOf(seqno) });
    if (said === undefined) throw new Error('no answer is set');
    if (said instanceof ProxyError) throw said;
    const body = Buffer.from(typeof said.body === 'string' ? said.body : JSON.stringify(said.body));
    const times = { askedAt: Date.now(), receivedAt: Date.now(), retryAfterMs: said.status === 429 ? 7000 : undefined };
    return {
      ...times,
      status: said.status,
      body,
      contentType: 'application/json',
      apiVersion: undefined,
      ageValueSeconds: 0,
    };
  };
  const head = new Head({
    isOurChain: (globalId) => globalId === -239,
    onFault: (fault, why) => {
      faults.push(fault);
      whys.push(why);
    },
    askEveryMs: () => askEveryMs,
    now: Date.now,
  });
  const polls = new HeadPolls({
    head,
    upstream: { fetch },
    maySend: async () => maySend(),
    onRateLimited: (ms) => void paused.push(ms),
    onPolled: (status) => void unnamed.push(status),
    askEveryMs: () => askEveryMs,
    now: Date.now,
  });
  const look = async (seconds: number, everyMs = 500) => {
    for (let ms = 0; ms < seconds * 1000; ms += everyMs) {
      await polls.ask();
      await vi.advanceTimersByTimeAsync(everyMs);
    }
  };
  const blocksAsked = () => asked.filter(([, what]) => what !== 'head');
  return { head, polls, indexer, asked, blocksAsked, faults, whys, unnamed, paused, look };
}

const secondsOf = (asked: readonly (readonly [number, unknown])[]) => asked.map(([seconds]) => seconds);

test('an answer to a head poll without a block is reported with its status, until one names a block', async () => {
  const { polls, indexer, unnamed } = oneHead();
  for (const [status, body] of [
    [200, '<html>'],
    [404, '{}'],
    [503, '{}'],
  ] as const) {
    indexer.head = () => ({ status, body });
    await polls.ask();
  }
  indexer.head = (said) => said;
  await polls.ask();
  expect(unnamed).toEqual([200, 404, 503, undefined]);
});

describe('a named block', () => {
  test('is requested at the start only', async () => {
    const { blocksAsked, faults, look, polls } = oneHead();
    await polls.check();
    await look(95);
    expect([blocksAsked(), faults]).toEqual([[[0, NEWEST]], []]);
  });

  test.each<[string, Said]>([
    ['the indexer’s own 404', NOT_FOUND],
    ['the 404 of a gateway', { status: 404, body: '<html>' }],
    ['an empty list', { status: 200, body: { blocks: [] } }],
    ['the list of another block', { status: 200, body: listOf(5) }],
    ['HTML', { status: 200, body: '<html>' }],
  ])('counts as missing if the answer is %s; every 10 s the block of the poll before is requested', async (_, said) => {
    const { head, indexer, asked, blocksAsked, faults, whys, look, polls } = oneHead();
    indexer.block = () => said;
    const checked = polls.check();
    await vi.advanceTimersByTimeAsync(3000);
    await checked;
    expect([head.fault, faults, whys]).toEqual(['lacks-block', ['lacks-block'], [`block ${NEWEST}`]]);
    expect([head.hasBlock(NEWEST), head.newestBlock, head.oldestBlock]).toEqual([false, -1, undefined]);
    asked.length = 0;
    await look(21);
    expect(asked.map(([seconds, what]) => [seconds, what === 'head' ? what : what - NEWEST])).toEqual([
      [10, 'head'],
      [10, 0],
      [20, 'head'],
      [20, 25],
    ]);
    indexer.block = () => undefined;
    await look(10);
    expect([head.fault, faults, head.hasBlock(NEWEST)]).toEqual([undefined, ['lacks-block', undefined], true]);
    const before = blocksAsked().length;
    await look(30);
    expect(blocksAsked()).toHaveLength(before);
  });

  test.each<[string, Said]>([
    ['a 500', { status: 500, body: {} }],
    ['a 401', { status: 401, body: {} }],
    ['a 429', { status: 429, body: {} }],
    ['a timeout', new ProxyError('upstream-timeout', '')],
  ])('counts neither as there nor as missing if its request ends with %s', async (_, said) => {
    const { head, indexer, faults, polls } = oneHead();
    indexer.block = () => said;
    await polls.check();
    expect(faults).toEqual([]);
    await polls.ask();
    head.refute(NEWEST - 100);
    await vi.advanceTimersByTimeAsync(10_000);
    await polls.ask();
    await vi.advanceTimersByTimeAsync(0);
    expect(head.fault).toBe('lacks-block');
  });

  test('is not requested while no request may be sent, and a 429 is reported with its Retry-After', async () => {
    let mayStill = 1;
    const { indexer, asked, paused, polls } = oneHead({ maySend: () => mayStill-- > 0 });
    await polls.check();
    expect(asked.map(([, what]) => what)).toEqual(['head']);
    mayStill = 1;
    indexer.block = () => ({ status: 429, body: {} });
    await polls.check();
    expect(paused).toEqual([7000]);
  });

  test('is requested again for 3 s at the start, and counts as missing only after that', async () => {
    const { indexer, blocksAsked, faults, polls } = oneHead();
    let missing = 3;
    indexer.block = () => (missing-- > 0 ? NOT_FOUND : undefined);
    const checked = polls.check();
    await vi.advanceTimersByTimeAsync(3000);
    await checked;
    expect([faults, blocksAsked()]).toEqual([[], [0, 0.5, 1, 1.5].map((seconds) => [seconds, NEWEST])]);

    const other = oneHead();
    other.indexer.block = () => NOT_FOUND;
    const asked = other.polls.check();
    await vi.advanceTimersByTimeAsync(2999);
    expect(other.faults).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await asked;
    expect([other.faults, other.blocksAsked().length]).toEqual([['lacks-block'], 7]);
  });

  test('counts as missing if another indexer has it, unless it is less than 100 blocks below the head', async () => {
    const { head, faults, polls } = oneHead();
    await polls.ask();
    head.refute(NEWEST - 99);
    expect(faults).toEqual([]);
    head.refute(NEWEST - 100);
    expect([faults, head.hasBlock(NEWEST - 1000)]).toEqual([['lacks-block'], false]);
  });
});

describe('the blocks of an indexer', () => {
  test.each([
    [undefined, [true, true, true, false]],
    [NEWEST - 10, [false, true, true, false]],
  ])('reach from the first one that it names (%s) to the newest', async (first, has) => {
    const { head, polls } = oneHead(first === undefined ? {} : { first });
    expect(head.hasBlock(NEWEST)).toBe(false);
    await polls.ask();
    expect([NEWEST - 11, NEWEST - 10, NEWEST, NEWEST + 1].map((seqno) => head.hasBlock(seqno))).toEqual(has);
    head.show({ at: 0, seqno: NEWEST + 1 });
    expect(head.hasBlock(NEWEST + 1)).toBe(true);
  });

  test('do not count while it follows another chain, and its head is polled every 10 s', async () => {
    const { head, indexer, asked, faults, whys, look, polls } = oneHead();
    expect(head.isOfOurChain).toBe(false);
    indexer.globalId = -3;
    expect(await polls.ask()).toBeUndefined();
    expect([faults, head.hasBlock(NEWEST), head.highestBlock, head.chainTime, head.isOfOurChain]).toEqual([
      ['other-chain'],
      false,
      -1,
      undefined,
      false,
    ]);
    expect(whys).toEqual(['global_id -3']);
    await look(25);
    expect(asked).toEqual([0, 10, 20].map((seconds) => [seconds, 'head']));
    indexer.globalId = -239;
    await look(6);
    expect([faults, head.hasBlock(NEWEST), head.isOfOurChain]).toEqual([['other-chain', undefined], true, true]);
  });

  test('count if it names no chain', async () => {
    const { head, indexer, polls } = oneHead();
    indexer.globalId = undefined;
    await polls.ask();
    expect([head.hasBlock(NEWEST), head.isOfOurChain]).toEqual([true, true]);
  });
});

test.each([2_000_000_000, 5])('a head of %i is believed', async (seqno) => {
  const { head, indexer, polls } = oneHead();
  await polls.ask();
  indexer.seqno = () => seqno;
  expect([(await polls.ask())?.seqno, head.newestBlock]).toEqual([seqno, seqno]);
});

test('a head of 2 000 000 000 that was named once is forgotten within a minute', async () => {
  const { head, indexer, look } = oneHead();
  const { seqno } = indexer;
  indexer.seqno = () => 2_000_000_000;
  await look(0.5);
  indexer.seqno = seqno;
  await look(1);
  expect([head.highestBlock, head.newestBlock]).toEqual([2_000_000_000, seqno() - 1]);
  await look(61);
  expect(head.hasReached(seqno() + 100)).toBe(false);
  expect([head.highestBlock <= seqno(), head.hasReached(head.highestBlock)]).toEqual([true, true]);
});

test('a block counts as reached for a minute after it, or a later one, was last shown', async () => {
  const { head, polls } = oneHead();
  await polls.ask();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(head.hasReached(NEWEST)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(head.hasReached(NEWEST)).toBe(false);
});

test('one indexer never gets two head polls at the same time', async () => {
  const { head, indexer, asked, polls } = oneHead();
  const said = Promise.withResolvers<Said>();
  indexer.head = () => said.promise;
  const first = polls.ask();
  expect(await polls.ask()).toBeUndefined();
  await polls.check();
  polls.askIfDue();
  expect(head.chainTime).toBeUndefined();
  expect(asked).toHaveLength(1);
  said.resolve({ status: 200, body: { last: { seqno: 7 } } });
  expect((await first)?.seqno).toBe(7);
});

describe('the last head poll', () => {
  test('shows for how long the newest block has been the same', async () => {
    const { head, indexer, look, polls } = oneHead();
    expect(head.lastWord).toBeUndefined();
    await look(10);
    expect(head.lastWord?.sameForMs).toBeLessThanOrEqual(BLOCK_MS);
    const still = indexer.seqno();
    indexer.seqno = () => still;
    await look(130, 10_000);
    expect(head.lastWord?.sameForMs).toBeGreaterThanOrEqual(120_000);
    indexer.seqno = () => still + 1;
    await polls.ask();
    expect(head.lastWord?.sameForMs).toBe(0);
  });

  test.each([-120_000, 7_200_000])(
    'distinguishes a clock that is off by %i ms from a chain that stands still',
    async (offMs) => {
      const { head, indexer, polls } = oneHead();
      indexer.head = () => {
        const last = { seqno: indexer.seqno(), gen_utime: String((Date.now() + offMs) / 1000) };
        return { status: 200, body: { last } };
      };
      await polls.ask();
      expect(head.lastWord).toMatchObject({ ageMs: -offMs, sameForMs: 0 });
    },
  );

  test('is forgotten after a minute without polls, and when the clock jumps', async () => {
    const { head, polls } = oneHead();
    await polls.ask();
    await vi.advanceTimersByTimeAsync(61_000);
    expect([head.lastWord, polls.isUnresponsive]).toEqual([undefined, false]);
    await polls.ask();
    polls.forget();
    expect(head.lastWord).toBeUndefined();
  });

  test.each<[string, Said | 'hangs']>([
    ['fails', new ProxyError('upstream-timeout', '')],
    ['is answered with 500', { status: 500, body: {} }],
    ['is answered with HTML', { status: 200, body: '<html>' }],
    ['hangs', 'hangs'],
  ])('makes the indexer unresponsive after a second if it %s', async (_, said) => {
    const { indexer, look, polls } = oneHead();
    await look(2);
    indexer.head = () => (said === 'hangs' ? new Promise(() => {}) : said);
    void polls.ask();
    await vi.advanceTimersByTimeAsync(900);
    expect(polls.isUnresponsive).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(polls.isUnresponsive).toBe(true);
    if (said === 'hangs') return;
    indexer.head = (truth) => truth;
    await polls.ask();
    expect(polls.isUnresponsive).toBe(false);
  });

  test('neither makes the indexer unresponsive nor ends that state if no connection can be opened here', async () => {
    const { indexer, look, polls } = oneHead();
    await look(2);
    indexer.head = () => overloaded('sockets', 0);
    await look(5);
    expect(polls.isUnresponsive).toBe(false);
    indexer.head = () => new ProxyError('upstream-timeout', '');
    await look(2);
    indexer.head = () => overloaded('sockets', 0);
    await look(2);
    expect(polls.isUnresponsive).toBe(true);
  });

  test('does not make the indexer unresponsive if it may not be sent', async () => {
    let may = true;
    const { look, polls } = oneHead({ maySend: () => may });
    await look(2);
    may = false;
    await look(5);
    expect(polls.isUnresponsive).toBe(false);
  });
});

describe('a head poll that is due when a request is sent', () => {
  /** Sends a request every half second for this time. `onRequest` stands for the effect of the answer. */
  async function sendFor({ polls }: ReturnType<typeof oneHead>, seconds: number, onRequest = () => {}): Promise<void> {
    for (let ms = 0; ms < seconds * 1000; ms += 500) {
      polls.pollIfDue();
      onRequest();
      await vi.advanceTimersByTimeAsync(500);
    }
  }
  const pollsOf = ({ asked }: ReturnType<typeof oneHead>) => secondsOf(asked.filter(([, what]) => what === 'head'));

  test.each([10, 25])('is sent every %i s', async (everySeconds) => {
    const one = oneHead({ askEveryMs: everySeconds * 1000 });
    await sendFor(one, 100);
    const times = Math.floor(99 / everySeconds);
    expect(pollsOf(one)).toEqual(Array.from({ length: times }, (_, index) => (index + 1) * everySeconds));
    expect(one.head.lastWord).toMatchObject({ sameForMs: 0 });
  });

  test('is not sent while there are no requests, but with the first one after that', async () => {
    const one = oneHead();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(pollsOf(one)).toEqual([]);
    await sendFor(one, 1);
    expect(pollsOf(one)).toEqual([3600]);
  });

  test('is not sent while answers to masterchainInfo show the head', async () => {
    const one = oneHead();
    const pass = () =>
      void one.polls.hear({ at: Date.now() - 1000, seqno: one.indexer.seqno(), first: 7, globalId: -239 });
    await sendFor(one, 60, pass);
    expect([pollsOf(one), one.head.lastWord]).toEqual([[], { at: expect.any(Number), ageMs: 1000, sameForMs: 0 }]);
    expect([one.head.newestBlock >= NEWEST, one.head.hasBlock(6), one.head.hasBlock(7)]).toEqual([true, false, true]);
    await sendFor(one, 11);
    expect(pollsOf(one)).toHaveLength(1);
  });

  test('is sent once, and not again while other answers show ever newer blocks', async () => {
    const one = oneHead();
    const show = () => one.head.show({ at: Date.now() - 1000, seqno: one.indexer.seqno() });
    await sendFor(one, 60, show);
    expect([pollsOf(one), one.head.lastWord]).toEqual([[10], { at: expect.any(Number), ageMs: 1000, sameForMs: 0 }]);
  });

  test.each<[string, (newest: number) => number]>([
    ['the newest block, which stays the newest', () => NEWEST],
    ['ever newer blocks, far below the head', (newest) => newest - 100_000],
  ])('is sent although answers show blocks: %s', async (_, shown) => {
    const one = oneHead();
    const seqnoNow = one.indexer.seqno;
    if (shown(0) === NEWEST) one.indexer.seqno = () => NEWEST;
    await sendFor(one, 45, () => one.head.show({ at: Date.now(), seqno: shown(seqnoNow()) }));
    expect(pollsOf(one)).toEqual([10, 20, 30, 40]);
  });

  test('that fails is sent again 10 s later, also after recovery', async () => {
    const one = oneHead();
    one.indexer.head = () => ({ status: 500, body: {} });
    await sendFor(one, 25);
    expect([pollsOf(one), one.polls.isUnresponsive]).toEqual([[10, 20], true]);
    one.indexer.head = (said) => said;
    await sendFor(one, 90);
    expect(pollsOf(one)).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]);
  });
});
