import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeMachine } from '../machine.ts';
import { type FoundProgram, findPrograms, MissingPrograms, SERVER_FOLDERS } from '../peers/required-programs.ts';
import { drawWorkload } from './draw-workload.ts';
import { chainOfHour, HOUR_MS } from './hour.ts';
import { keyOf } from './judge.ts';
import { type Options, readOptions, USAGE, UsageError } from './options.ts';
import { type Row, rowOf, tableOfRows } from './report.ts';
import { runMode } from './run-mode.ts';
import { sessionsOfHour } from './sessions.ts';

// `npm run bench:workload`: plays the same clients directly, through nginx, Varnish and toncache, in front of a simulated
// indexer. Five minutes, everything on 127.0.0.1. Needs Linux.

/** EX_USAGE and EX_UNAVAILABLE of sysexits.h. */
const EXIT_USAGE = 64;
const EXIT_UNAVAILABLE = 69;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const RESULTS = new URL('../../../bench-results/', import.meta.url);
const SHOWN_LIES = 3;

// Exit on a signal: the exit handlers end the servers, which a signal alone would leave running.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const options = read();
const programs = await find();
const hour = chainOfHour(0);
hour.advanceTo(HOUR_MS);
const sessions = sessionsOfHour(hour, options.seed, options.crowd);
const machine = describeMachine();
const caption = [
  `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${new Date().toISOString().slice(0, 10)}`,
  `seconds 1800 to ${1800 + options.seconds} of an hour of ${sessions.length} clients, ${options.crowd} for each trace`,
].join('; ');
console.log(`${caption}.

An hour is generated, seed ${options.seed}. These seconds of it are run in real time, after some that are not counted: run faster, it
would be asked more often within a lifetime than in truth. So no time is compressed, only the hour is not run whole.
Clients, indexer and server share the machine.\n`);

const folder = await mkdtemp(join(tmpdir(), 'toncache-workload-'));
// Varnish reads its configuration as another user.
await chmod(folder, 0o755);
const rows: Row[] = [];
try {
  for (const mode of options.modes) {
    const setting = { programs, folder: join(folder, mode.replaceAll(/\W+/g, '-')), root: ROOT };
    const { verdicts, upstream, seen } = await runMode(mode, sessions, options.seconds, setting);
    rows.push(rowOf(mode, verdicts, upstream, seen));
    for (const { answer, kind, staleMs } of verdicts.filter((it) => it.kind !== 'right').slice(0, SHOWN_LIES)) {
      const { call, status, text } = answer;
      process.stderr.write(
        `${mode}: ${kind}: ${keyOf(call)}: ${status}, untrue for ${staleMs} ms: ${text.slice(0, 80)}\n`,
      );
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(tableOfRows(rows));
await mkdir(RESULTS, { recursive: true });
const chart = fileURLToPath(new URL('workload.svg', RESULTS));
await writeFile(chart, drawWorkload(rows, caption));
console.log(`\nchart: ${chart}`);

function read(): Options {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${USAGE}`);
    return process.exit(EXIT_USAGE);
  }
}

async function find(): Promise<ReadonlyMap<string, FoundProgram>> {
  try {
    return await findPrograms([process.env['PATH'], SERVER_FOLDERS].join(delimiter));
  } catch (error) {
    if (!(error instanceof MissingPrograms)) throw error;
    console.error(error.message);
    return process.exit(EXIT_UNAVAILABLE);
  }
}
