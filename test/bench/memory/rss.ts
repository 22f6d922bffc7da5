import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const BETWEEN_LOOKS_MS = 1000;
const MOST_LOOKS = 30;
/** RSS has settled when three measurements in a row differ by less than this share of it. */
const SETTLED_SHARE = 0.005;

/** Reads the resident memory, in bytes, from `/proc/<pid>/status` (proc(5)). Throws for a text without it. */
export function parseRss(status: string): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kib === undefined) throw new Error(`no VmRSS in /proc/<pid>/status: ${status.slice(0, 100)}`);
  return Number(kib) * 1024;
}

/** The resident memory of a process, in bytes, once it has settled, or after 30 s as it is. */
export async function settledRss(pid: number): Promise<number> {
  const seen: number[] = [];
  for (;;) {
    const now = parseRss(await readFile(`/proc/${pid}/status`, 'utf8'));
    seen.push(now);
    const last = seen.slice(-3);
    if (last.length === 3 && Math.max(...last) - Math.min(...last) < now * SETTLED_SHARE) return now;
    if (seen.length === MOST_LOOKS) return now;
    await delay(BETWEEN_LOOKS_MS);
  }
}
