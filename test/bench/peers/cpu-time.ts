import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

const tickMicros = 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** CPU time of a process and all its descendants, in microseconds; each is rounded to clock ticks (10 ms). */
export async function cpuMicrosOf(pid: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process can end after its directory was listed.
  const lines = await Promise.all(pids.map((one) => readFile(`/proc/${one}/stat`, 'utf8').catch(() => '')));
  const all = lines.filter((line) => line !== '').map(parseStat);
  const children = Map.groupBy(all, ({ parentPid }) => parentPid);
  const ticksBelow = (root: number): number =>
    (children.get(root) ?? []).reduce((sum, child) => sum + child.ticks + ticksBelow(child.pid), 0);
  return ((all.find((one) => one.pid === pid)?.ticks ?? 0) + ticksBelow(pid)) * tickMicros;
}

/** A line of `/proc/<pid>/stat` (proc(5)): user and system time of all threads. A name can hold spaces and brackets. */
function parseStat(line: string) {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return {
    pid: Number.parseInt(line, 10),
    parentPid: Number(fields[1]),
    ticks: Number(fields[11]) + Number(fields[12]),
  };
}
