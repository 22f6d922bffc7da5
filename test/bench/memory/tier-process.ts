import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Entry } from '../../../src/cache/entry.ts';
import { Gzip } from '../../../src/cache/gzip.ts';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import { settingsSchema } from '../../../src/config/schema.ts';
import { entityTagOf } from '../../../src/content-codings.ts';
import { factsOf } from '../../../src/proxy/body-facts.ts';
import { classifyAnswer } from '../../../src/proxy/classify-answer.ts';
import { Chain } from '../../../src/simulator/chain.ts';
import { renderBlock } from '../../../src/simulator/render-block.ts';
import { renderTransaction } from '../../../src/simulator/render-transaction.ts';
import { cacheKey } from '../../../src/ton/cache-key.ts';
import { findOperation } from '../../../src/ton/operations.ts';
import { parseCall } from '../../../src/ton/parse-call.ts';
import { parseRss } from './rss.ts';

// A process: fills a memory tier with entries as they come from the indexer, and prints what that took of the machine's
// memory. Arguments: KB of a body, entries, `gzip` or `identity`.

const [sizeKb = 0, count = 0] = process.argv.slice(2, 4).map(Number);
const isEncoded = process.argv[4] === 'gzip';
/** Encoded at a time, as many as the thread pool takes at once. */
const BATCH = 32;
const STARTED_AT = 1_700_000_000_000;
const FIRST_SEQNO = 62_000_000;
const BLOCKS = 600;

const { lifetimes } = settingsSchema.parse({ upstream: { url: 'http://127.0.0.1:1' } });
const now = Date.now();
const memory = new MemoryTier({ now: () => now }, { maxSizeBytes: 64 * 1024 ** 3, maxEntries: count });
const gzip = new Gzip(
  { onChange: (entry) => memory.resize(entry), onPacked: () => {} },
  { enabled: true, minBytes: 1 },
);

const chain = new Chain({ startAt: STARTED_AT, firstSeqno: FIRST_SEQNO, historyBlocks: BLOCKS });
chain.advanceTo(STARTED_AT + BLOCKS * 400);

/**
 * Bodies of so many KB on average, of what the indexer lists: blocks where it is little, transactions where it is more.
 * Each has the number of rows that brings the average nearest to it.
 */
function* bodies(): Generator<Buffer> {
  const rows = sizeKb < 4 ? blocks() : transactions();
  const name = sizeKb < 4 ? 'blocks' : 'transactions';
  let next = 0;
  for (let due = sizeKb * 1000; ; due += sizeKb * 1000) {
    const listed: string[] = [];
    const left = () => due - `{"${name}":[${listed.join(',')}]}`.length;
    do {
      listed.push(rows[next] ?? '');
      next = (next + 1) % rows.length;
    } while (left() > (rows[next]?.length ?? 0) / 2);
    due = left();
    yield Buffer.from(`{"${name}":[${listed.join(',')}]}`);
  }
}

function blocks(): string[] {
  const sets = Array.from({ length: BLOCKS }, (_, index) => chain.block(FIRST_SEQNO + index));
  return sets.flatMap((set) => set?.blocks.map((block) => JSON.stringify(renderBlock(block, set))) ?? []);
}

function transactions(): string[] {
  const all = Array.from({ length: BLOCKS }, (_, index) => chain.block(FIRST_SEQNO + index)?.transactions ?? []);
  return all.flat().map((row) => JSON.stringify(renderTransaction(row, 'finalized', '1.3')));
}

/** Made as it is made of an answer: the children of one more transaction. */
function entryOf(number: number, body: Buffer): Entry {
  const operation = findOperation('/api/v3/adjacentTransactions');
  if (operation === undefined) throw new Error('there is no such operation');
  const call = parseCall(operation, `hash=${number.toString(16).padStart(64, '0')}&direction=in`, {});
  const facts = { ...factsOf(call, 200, body), finality: { answerClass: 'final', rule: 'adjacentFinal' } as const };
  const answer = {
    ...{ status: 200, contentType: 'application/json', apiVersion: '1.3.0', retryAfter: undefined },
    ...{ askedAt: now, receivedAt: now, body, facts: { ...facts, etag: entityTagOf(body) } },
  };
  const classified = classifyAnswer(
    cacheKey('mainnet', call),
    answer,
    { random: () => 0.5, chainTime: () => undefined },
    lifetimes,
  );
  if (classified instanceof Error) throw classified;
  return classified;
}

async function settled(): Promise<number> {
  for (let time = 0; time < 5; time++) {
    globalThis.gc?.();
    await delay(200);
  }
  return parseRss(readFileSync('/proc/self/status', 'utf8'));
}

const source = bodies();
async function fill(from: number, until: number): Promise<number> {
  let bytes = 0;
  for (let number = from; number < until; number++) {
    const entry = entryOf(number, source.next().value as Buffer);
    bytes += entry.content.bytes;
    memory.set(entry);
    if (!isEncoded) continue;
    void gzip.bodyFor(entry, true);
    if (number % BATCH === 0) while (gzip.pending > 0) await delay(0);
  }
  while (gzip.pending > 0) await delay(0);
  return bytes;
}

const warmUp = Math.ceil(count / 50);
await fill(count, count + warmUp);
memory.clear();
const before = await settled();
const payloadBytes = await fill(0, count);
const after = await settled();
console.log(
  JSON.stringify({ entries: memory.count, payloadBytes, rssBytes: after - before, countedBytes: memory.sizeBytes }),
);
