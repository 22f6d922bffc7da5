import { loadavg } from 'node:os';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MemoryTier } from '../../../src/cache/memory-tier.ts';
import { anEntry } from '../../support/entry.ts';
import { describeMachine } from '../support/report.ts';

// `node --max-semi-space-size=32 test/bench/peers/pause.ts`: fills a memory tier with a million answers of 2 KB, then
// goes on writing new ones in place of the oldest, and measures the pauses of the full collections that V8 makes by
// itself. Takes 4 GB of memory and a minute.

const { values } = parseArgs({ options: { entries: { type: 'string', default: '1000000' } } });
const entries = Number(values.entries);
const BODY_BYTES = 2048;
const COLLECTIONS = 5;
const MIB = 1024 ** 2;
/** Answers that are written in one turn of the event loop. */
const TURN = 200;

const tier = new MemoryTier({ now: Date.now, maxSizeBytes: entries * (BODY_BYTES + 900) });
const askedAt = Date.now();
let written = 0;

async function write(count: number): Promise<void> {
  for (const end = written + count; written < end; written++) {
    const key = `v1 mainnet masterchainBlockShards seqno=${60_000_000 + written}`;
    tier.set(anEntry({ key, body: Buffer.alloc(BODY_BYTES, `${written} `), askedAt }));
    if (written % TURN === 0) await turn();
  }
}

await write(entries);
const pausesMs: number[] = [];
new PerformanceObserver((list) => {
  // The cast: entries of this type have a `detail`.
  for (const { duration, detail } of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) {
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) pausesMs.push(Math.round(duration));
  }
}).observe({ entryTypes: ['gc'] });
while (pausesMs.length < COLLECTIONS && written < 4 * entries) await write(TURN);

const { heapUsed, rss } = process.memoryUsage();
console.log(`${describeMachine()}, load ${loadavg()[0]?.toFixed(0)}`);
console.log(`${tier.count} entries, heap ${Math.round(heapUsed / MIB)} MiB, RSS ${Math.round(rss / MIB)} MiB`);
console.log(`full collections: ${pausesMs.join(', ')} ms`);
