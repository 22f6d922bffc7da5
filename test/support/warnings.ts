import type { LogLine } from './start-proxy.ts';

/** What a machine that is busy with other things tells about a healthy indexer: it is slow, and its head polls take long. */
const OF_A_SLOW_MACHINE: readonly unknown[] = ['slow', 'silent'];

/** The lines of a log that warn, without those that a slow machine causes by itself. */
export function warningsIn(log: readonly LogLine[]): readonly LogLine[] {
  return log.filter((line) => line.level > 30 && !('condition' in line && OF_A_SLOW_MACHINE.includes(line.condition)));
}
