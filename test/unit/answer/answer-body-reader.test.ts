import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AnswerBodyReader } from '../../../src/answer/answer-body-reader.ts';
import { factsOf, NO_FACTS } from '../../../src/answer/body-facts.ts';
import type { UpstreamAnswer } from '../../../src/indexer/upstream-client.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { ACCOUNT, callOf, HASH_HEX } from '../ton/requests.ts';
import { ASKED_AT, OUT, SHARDS } from './classified.ts';

const KIB = 1024;
/** Longer than any body that is read on the main thread. */
const LARGE = 300 * KIB;
let bugs: unknown[];
let readingBytes: number;
let reader: AnswerBodyReader;

beforeEach(() => {
  bugs = [];
  readingBytes = 0;
  reader = new AnswerBodyReader({
    onBug: (error) => bugs.push(error),
    onReading: (change) => {
      readingBytes += change;
    },
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await reader.close();
  expect(bugs).toEqual([]);
});

function answerOf(body: string | Buffer, status = 200): UpstreamAnswer {
  return {
    status,
    contentType: 'application/json',
    apiVersion: undefined,
    retryAfterMs: undefined,
    ageValueSeconds: 0,
    body: Buffer.from(body),
    askedAt: ASKED_AT,
    receivedAt: ASKED_AT + 300,
  };
}

/** The block list of a complete masterchain block, padded to this length by a member that is not read. */
function blockSetOf(bytes: number): string {
  const [head, tail] = ['{"blocks":[{"workchain":-1,"seqno":7}],"padding":"', '"}'];
  return head + 'a'.repeat(bytes - head.length - tail.length) + tail;
}

/** The next worker that this process starts. */
async function nextWorker(): Promise<Worker> {
  const [worker] = (await once(process, 'worker')) as [Worker];
  return worker;
}

describe('a body of at most 256 KiB', () => {
  test.each([
    ['few values', blockSetOf(256 * KIB)],
    ['many values', `{"blocks":[{"workchain":-1,"seqno":7}],"more":[${'0,'.repeat(120_000)}0]}`],
  ])('is read immediately, without a worker: %s', (_, body) => {
    const started = vi.fn();
    process.once('worker', started);
    const answer = answerOf(body);
    expect(reader.read(SHARDS, answer)).toEqual(factsOf(SHARDS, 200, answer.body));
    process.off('worker', started);
    expect(started).not.toHaveBeenCalled();
  });
});

describe('a larger body', () => {
  const growing = () => {
    const row = (index: number) => ({
      hash: `h${index}`,
      now: 1_700_000_000 + index,
      mc_block_seqno: 7,
      note: 'n'.repeat(500),
    });
    return JSON.stringify({ transactions: Array.from({ length: 1000 }, (_, index) => row(index)) });
  };

  const lackingState = growing().replace('"note"', '"account_state_before":{"hash":"s","balance":null},"note"');

  test.each<[string, Call, string, number]>([
    ['a masterchain block', SHARDS, blockSetOf(2 * LARGE), 200],
    ['children', OUT, growing(), 200],
    ['children, one of them without the state of its account', OUT, lackingState, 200],
    ['a body that does not answer the call', OUT, blockSetOf(LARGE), 200],
    ['invalid JSON', SHARDS, blockSetOf(LARGE).slice(1), 200],
    ['an error', SHARDS, `{"error":"${'e'.repeat(LARGE)}"}`, 500],
    ['an absence', callOf('adjacentTransactions', `hash=${HASH_HEX}`), `{"error":"${'e'.repeat(LARGE)}"}`, 404],
  ])('gives the same result in the worker as on the main thread: %s', async (_, call, body, status) => {
    const answer = answerOf(body, status);
    const facts = await reader.read(call, answer);
    expect(facts).toEqual(factsOf(call, status, Buffer.from(body)));
    expect(facts.completeness.members).toBeInstanceOf(Buffer);
    expect(answer.body.equals(Buffer.from(body))).toBe(true);
  });

  test('shows the same final transactions in the worker as on the main thread, of the given block and later ones', async () => {
    const row = (seqno: number) => ({ account: '0:ab', lt: '5', hash: `${seqno}`, now: 1, mc_block_seqno: seqno });
    const body = (padding: string) => JSON.stringify({ transactions: [row(6), row(7), row(8)], padding });
    const [small, large] = ['', 'p'.repeat(LARGE)].map((padding) => answerOf(body(padding)));
    if (small === undefined || large === undefined) throw new Error('no answers');
    const expected = [7, 8].map((seqno) => ({ account: '0:AB', lt: 5n, hash: `${seqno}`, now: 1, seqno }));
    for (const answer of [small, large]) {
      expect((await reader.read(OUT, answer, 7)).rows).toEqual(expected);
      expect((await reader.read(OUT, answer, 9)).rows).toEqual([]);
      expect((await reader.read(OUT, answer)).rows).toEqual([]);
      expect(await reader.readShown(OUT, answer.body, 7)).toEqual({ rows: expected, evidence: undefined });
    }
  });

  test('shows the same evidence in the worker as on the main thread', async () => {
    const page = callOf('transactions', `account=${ACCOUNT}&limit=2`);
    const row = { account: ACCOUNT, lt: '5', hash: 'a', prev_trans_lt: '0', now: 1, mc_block_seqno: 7 };
    const body = (padding: string) => Buffer.from(JSON.stringify({ transactions: [row], padding }));
    const [small, large] = await Promise.all(
      ['', 'p'.repeat(LARGE)].map((padding) => reader.readShown(page, body(padding), 7)),
    );
    expect(small?.evidence).toMatchObject({ kind: 'page', accounts: [ACCOUNT], hashes: new Set(['a']) });
    expect(large).toEqual(small);
  });

  test('is parsed after earlier ones, by the same worker, and its bytes count until then', async () => {
    const started = vi.fn();
    process.on('worker', started);
    const order: number[] = [];
    const reads = Array.from({ length: 5 }, async (_, index) => {
      await reader.read(SHARDS, answerOf(blockSetOf(LARGE)));
      order.push(index);
    });
    expect(readingBytes).toBe(5 * LARGE);
    await Promise.all(reads);
    process.off('worker', started);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect([started.mock.calls.length, readingBytes]).toEqual([1, 0]);
  });

  test('is an invalid answer when its worker dies, and the next body is parsed by another worker', async () => {
    const first = nextWorker();
    const reads = [1, 2].map(() => reader.read(SHARDS, answerOf(blockSetOf(LARGE))));
    const second = first.then(async (worker) => {
      const next = nextWorker();
      await worker.terminate();
      return next;
    });
    expect(await reads[0]).toEqual(NO_FACTS);
    expect((await reads[1])?.finality?.rule).toBe('shardsFinal');
    expect(await second).not.toBe(await first);
    expect(readingBytes).toBe(0);
  });

  test.each([
    ['it is no JSON', '['.repeat(LARGE)],
    ['it has more rows than a list may have', `{"blocks":[${`{"padding":"${' '.repeat(110)}"},`.repeat(10_000)}{}]}`],
  ])('is an invalid answer if %s, and the next body is read', async (_, body) => {
    expect((await reader.read(SHARDS, answerOf(body))).finality).toBeUndefined();
    expect((await reader.read(SHARDS, answerOf(blockSetOf(LARGE)))).finality?.rule).toBe('shardsFinal');
  });
});
