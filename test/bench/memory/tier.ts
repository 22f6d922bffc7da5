import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIER_PROCESS = fileURLToPath(new URL('./tier-process.ts', import.meta.url));

/** 100 000 entries; of 30 KB a tenth, which make 300 MB. */
const FILLS = [
  { sizeKb: 1, entries: 100_000 },
  { sizeKb: 2, entries: 100_000 },
  { sizeKb: 5, entries: 100_000 },
  { sizeKb: 30, entries: 10_000 },
];
/** The young generation otherwise grows by up to 100 MB while a process works, however little it keeps. */
const NODE_FLAGS = ['--expose-gc', '--max-semi-space-size=1'];

export const TIER_HEAD = ['KB', 'entries', 'kept', 'payload MB', 'RSS MB', 'RSS over payload', 'counted over RSS'];

/** Fills memory tiers with entries, each in a process of its own: rows for a table. */
export async function measureTiers(percent: number): Promise<string[][]> {
  const rows: string[][] = [];
  for (const { sizeKb, entries } of FILLS) {
    for (const coding of ['identity', 'gzip']) {
      const count = Math.round((entries * percent) / 100);
      const { stdout } = await run(process.execPath, [...NODE_FLAGS, TIER_PROCESS, `${sizeKb}`, `${count}`, coding]);
      const { payloadBytes, rssBytes, countedBytes } = JSON.parse(stdout);
      const mb = (bytes: number) => (bytes / 1e6).toFixed(0);
      const ratios = [rssBytes / payloadBytes, countedBytes / rssBytes].map((ratio) => ratio.toFixed(2));
      rows.push([`${sizeKb}`, `${count}`, coding, mb(payloadBytes), mb(rssBytes), ...ratios]);
    }
  }
  return rows;
}
