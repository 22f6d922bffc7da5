import { ageOf } from '../tell/episode-words.ts';
import type { StatusMessage } from './status/status-pages.ts';

/** The size of a terminal that shows the whole description. */
const [COLUMNS, LINES] = [100, 20];

/** A line that is too long ends with an ellipsis. */
const cut = (line: string): string => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line);

/** The first `most` of the lines, and the number of the others. */
function few(lines: readonly string[], most: number): readonly string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), `and ${lines.length - most + 1} more`];
}

/** A sentence in lines that break between words. */
const wrapped = (sentence: string): readonly string[] =>
  sentence.match(new RegExp(`\\S.{0,${COLUMNS - 1}}(?=\\s|$)|\\S{${COLUMNS}}`, 'g')) ?? [];

/**
 * The state of an instance for a terminal, in at most 20 lines of 100 columns: the first line of the page, each condition
 * that is failing or degraded, and each indexer.
 */
export function describeStatus({ about, at, says, conditions, hour, upstreams }: StatusMessage): string {
  const first = wrapped(says).slice(0, 3);
  const { version, host, network, startedAt } = about;
  const saved = `${hour.saved.toLocaleString('en')} of ${hour.requests.toLocaleString('en')} requests`;
  const instance = `${version} on ${host}, ${network}, up ${ageOf(at - startedAt)}; saved ${saved} in the last ${ageOf(1000 * hour.seconds)}`;
  // One that several operations have is one line.
  const said = new Map(conditions.filter(({ level }) => level !== 'note').map((each) => [each.says, each]));
  const present = [...said.values()].map(
    (each) => `${each.level.toUpperCase()} for ${ageOf(at - each.since)}: ${each.says}`,
  );
  const width = Math.max(...upstreams.map(({ upstream }) => upstream.length));
  const indexers = upstreams.map((its) => {
    const block = its.seqno === undefined ? '' : `, block ${its.seqno.toLocaleString('en')}`;
    const kind = its.isBackup ? ' (backup)' : '';
    const rates = `${its.perSecond.toFixed(1)} requests/s, ${its.failedPerSecond.toFixed(1)} failed/s`;
    return `${its.upstream.padEnd(width)}  ${its.state}${kind}${block}, ${rates}`;
  });
  const room = LINES - first.length - 1;
  const shownIndexers = few(indexers, Math.max(Math.min(indexers.length, room >> 1), room - present.length));
  const lines = [...first, ...few(present, room - shownIndexers.length), instance, ...shownIndexers];
  return lines.map((line) => `${cut(line)}\n`).join('');
}
