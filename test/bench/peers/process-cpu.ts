import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

/** What a line of `/proc/<pid>/stat` says (proc(5)). */
export interface ProcessStat {
  readonly pid: number;
  readonly parentPid: number;
  /** User and system time of all threads, in clock ticks, without that of children that have ended. */
  readonly cpuTicks: number;
}

/** Reads a line of `/proc/<pid>/stat`. Throws for anything else. The name of a program can hold spaces and brackets. */
export function parseStat(line: string): ProcessStat {
  const nameEnd = line.lastIndexOf(')');
  const fields = line.slice(nameEnd + 2).split(' ');
  const [pid, parentPid, userTicks, systemTicks] = [line, fields[1], fields[11], fields[12]].map((text = '') =>
    Number.parseInt(text, 10),
  );
  const cpuTicks = (userTicks ?? Number.NaN) + (systemTicks ?? Number.NaN);
  if (nameEnd < 0 || pid === undefined || parentPid === undefined || Number.isNaN(pid + parentPid + cpuTicks)) {
    throw new Error(`no line of /proc/<pid>/stat: ${line}`);
  }
  return { pid, parentPid, cpuTicks };
}

/** The ticks of a process and all its descendants; 0 when it does not exist. */
export function treeTicks(root: number, all: readonly ProcessStat[]): number {
  const children = Map.groupBy(all, ({ parentPid }) => parentPid);
  const ticksBelow = (pid: number): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + child.cpuTicks + ticksBelow(child.pid), 0);
  return (all.find(({ pid }) => pid === root)?.cpuTicks ?? 0) + ticksBelow(root);
}

const microsPerTick = () => 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
let tickMicros: number | undefined;

/** CPU time of a process and all its descendants, in microseconds; each is rounded to clock ticks (10 ms). */
export async function cpuMicrosOf(pid: number): Promise<number> {
  tickMicros ??= microsPerTick();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process can end after its directory was listed.
  const lines = await Promise.all(pids.map((one) => readFile(`/proc/${one}/stat`, 'utf8').catch(() => undefined)));
  return (
    treeTicks(
      pid,
      lines.flatMap((line) => (line === undefined ? [] : [parseStat(line)])),
    ) * tickMicros
  );
}
