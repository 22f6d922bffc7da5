import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStat, treeTicks } from './process-cpu.ts';

const stat = (pid: number, name: string, parent: number, user: number, system: number) =>
  `${pid} (${name}) S ${parent} ${pid} ${pid} 0 -1 4194304 90 7 0 0 ${user} ${system} 3 4 20 0 1 0 5 6 7 8\n`;

describe('a line of /proc/<pid>/stat', () => {
  it('gives user and system time, without that of ended children', () => {
    expect(parseStat(stat(42, 'nginx', 7, 120, 30))).toEqual({ pid: 42, parentPid: 7, cpuTicks: 150 });
  });

  it('is read whatever the program is called', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 15 }), (name) => {
        expect(parseStat(stat(42, name, 7, 1, 2))).toEqual({ pid: 42, parentPid: 7, cpuTicks: 3 });
      }),
    );
  });

  it.each(['', '42', '42 (nginx) S', 'no line (x) S 1 2'])('is not read from %j', (line) => {
    expect(() => parseStat(line)).toThrow('no line of');
  });
});

describe('the CPU time of a process tree', () => {
  it('has that of children and their children, and of nobody else', () => {
    const all = [
      { pid: 10, parentPid: 1, cpuTicks: 1 },
      { pid: 11, parentPid: 10, cpuTicks: 20 },
      { pid: 12, parentPid: 11, cpuTicks: 300 },
      { pid: 13, parentPid: 1, cpuTicks: 4000 },
    ];
    expect(treeTicks(10, all)).toBe(321);
    expect(treeTicks(99, all)).toBe(0);
  });
});
