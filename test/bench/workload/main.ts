import { chmod, mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { numberUpTo } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { findProgram } from '../peers/required-programs.ts';
import { chainOfHour, HOUR_MS } from './hour.ts';
import { keyOf } from './judge.ts';
import { HEAD, rowOf } from './report.ts';
import { runServer } from './run-server.ts';
import { startNginx, startToncache, startVarnish } from './servers.ts';
import { sessionsOfHour } from './sessions.ts';

// `npm run bench:workload`: plays the same clients directly, through nginx, Varnish and toncache, in front of a simulated
// indexer. Five minutes, everything on 127.0.0.1. Needs Linux. An hour is generated, and `--seconds 40` of it run in real
// time: run faster, it would be asked more often within a lifetime than in truth.

const SERVERS = {
  direct: undefined,
  nginx: startNginx,
  Varnish: startVarnish,
  toncache: startToncache([]),
  'toncache, stream': startToncache(['STREAM_URL']),
};
/** Less than what is left of the hour after the slice begins. */
const MOST_SECONDS = 1500;
const SHOWN_LIES = 3;

exitOnSignals();

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '40' } } });
const seconds = numberUpTo('--seconds', values.seconds, MOST_SECONDS);
for (const program of ['nginx', 'varnishd', 'taskset'] as const) await findProgram(program);
const hour = chainOfHour(0);
hour.advanceTo(HOUR_MS);
const sessions = sessionsOfHour(hour);
console.log(`${describeMachine()}; ${seconds} s of an hour of ${sessions.length} clients\n`);

await using folder = await mkdtempDisposable(join(tmpdir(), 'toncache-workload-'));
// Varnish reads its configuration as another user.
await chmod(folder.path, 0o755);
const rows: string[][] = [];
for (const [name, start] of Object.entries(SERVERS)) {
  const measured = await runServer(start, sessions, seconds, join(folder.path, name.replaceAll(/\W+/g, '-')));
  rows.push(rowOf(name, measured));
  for (const { answer, kind, staleMs } of measured.verdicts.filter((it) => it.kind !== 'right').slice(0, SHOWN_LIES)) {
    const { call, status, text } = answer;
    console.error(`${name}: ${kind}: ${keyOf(call)}: ${status}, untrue for ${staleMs} ms: ${text.slice(0, 80)}`);
  }
}
console.log(markdownTable(HEAD, rows));
