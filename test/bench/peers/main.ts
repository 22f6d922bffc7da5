import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startRedis } from '../../support/redis-server.ts';
import { describeMachine } from '../machine.ts';
import { casesOf, REDIS_KINDS } from './cases.ts';
import { type Measured, measureCase } from './measure.ts';
import { startNginx } from './nginx.ts';
import { type Options, readOptions, USAGE, UsageError } from './options.ts';
import type { Peer } from './peer.ts';
import { freePort, PinnedProcess } from './pinned-process.ts';
import { type FoundProgram, findPrograms, MissingPrograms, SERVER_FOLDERS } from './required-programs.ts';
import { tableOfBytes, tableOfCpu } from './tables.ts';
import { nameOfToncache, startToncachePeer } from './toncache.ts';
import { startVarnish } from './varnish.ts';

// `npm run bench:peers`: CPU time per request of toncache, nginx and Varnish in front of one indexer, all pinned to the same
// core and measured in turn. All cases take a quarter of an hour. Needs Linux.

/** EX_USAGE and EX_UNAVAILABLE of sysexits.h. */
const EXIT_USAGE = 64;
const EXIT_UNAVAILABLE = 69;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FAKE_INDEXER = fileURLToPath(new URL('./fake-indexer.ts', import.meta.url));

const machine = describeMachine();
const SERVER_CORE = 0;
const GENERATOR_CORE = 1;
/** Core of the indexer and of Redis, which are not measured. */
const REST_CORE = machine.cores > 2 ? 2 : GENERATOR_CORE;

// Exit on a signal: the exit handlers end the servers, which a signal alone would leave running.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const options = read();
const programs = await find();
const folder = await mkdtemp(join(tmpdir(), 'toncache-peers-'));
// Varnish reads its configuration as another user.
await chmod(folder, 0o755);
try {
  const measured = await compare(options);
  const head = { date: new Date().toISOString().slice(0, 10), machine, versions: versions(), options };
  console.log(options.json ? JSON.stringify({ ...head, measured }, undefined, 2) : page(measured, head.date));
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function compare({ kinds, sizesKb, rounds, seconds, toncaches }: Options): Promise<Measured[]> {
  await using stack = new AsyncDisposableStack();
  const indexerPort = await freePort();
  stack.use(
    await PinnedProcess.start({
      cores: String(REST_CORE),
      program: process.execPath,
      args: [FAKE_INDEXER, String(indexerPort)],
      cwd: folder,
      environment: {},
      port: indexerPort,
      logFile: join(folder, 'indexer.log'),
    }),
  );
  const setting = async (name: string) => {
    await mkdir(join(folder, name));
    return {
      cores: String(SERVER_CORE),
      indexerPort,
      folder: join(folder, name),
      program: programs.get(name)?.path ?? '',
    };
  };
  const peers: Peer[] = [];
  for (const [place, source] of toncaches.entries()) {
    const own = { source, name: nameOfToncache(source, toncaches) };
    peers.push(stack.use(await startToncachePeer({ ...(await setting(`toncache-${place}`)), ...own })));
    for (const kind of REDIS_KINDS.filter((redisKind) => kinds.includes(redisKind))) {
      const { url, pid } = stack.use(await startRedis());
      await promisify(execFile)('taskset', ['-a', '-p', '-c', String(REST_CORE), String(pid)]);
      const redis = { kind, url };
      peers.push(stack.use(await startToncachePeer({ ...(await setting(`${kind}-${place}`)), ...own, redis })));
    }
  }
  peers.push(stack.use(await startNginx(await setting('nginx'))));
  peers.push(stack.use(await startVarnish(await setting('varnishd'))));

  const indexerUrl = `http://127.0.0.1:${indexerPort}`;
  const wrk = programs.get('wrk')?.path ?? '';
  const bench = { wrk, generatorCore: GENERATOR_CORE, indexerUrl, folder, rounds, seconds };
  const measured: Measured[] = [];
  for (const compared of casesOf(kinds, sizesKb)) {
    const rows = await measureCase(bench, compared, peers);
    measured.push(...rows);
    // Show each case at once: a run that is cut off has then shown the cases before.
    process.stderr.write(`${tableOfCpu(rows)}\n\n`);
  }
  return measured;
}

function versions(): Record<string, string> {
  return Object.fromEntries([...programs].map(([name, { version }]) => [name, version]));
}

function page(measured: readonly Measured[], date: string): string {
  const { nginx, varnishd, wrk } = versions();
  const { rounds, seconds } = options;
  return `${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, nginx ${nginx}, Varnish ${varnishd}, wrk ${wrk}, ${date}.
Medians of ${rounds} rounds of ${seconds} s; in brackets: divided by the CPU time of ${measured[0]?.peer}, so above 1 toncache needs less.

${tableOfCpu(measured)}

${tableOfBytes(measured)}`;
}

function read(): Options {
  try {
    return readOptions(process.argv.slice(2), ROOT);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${USAGE}`);
    return process.exit(EXIT_USAGE);
  }
}

async function find(): Promise<ReadonlyMap<string, FoundProgram>> {
  try {
    if (machine.cores < 2) throw new Error('the bench needs 2 cores: one for the server, one for the load');
    return await findPrograms([process.env['PATH'], SERVER_FOLDERS].join(delimiter));
  } catch (error) {
    if (!(error instanceof MissingPrograms)) throw error;
    console.error(error.message);
    return process.exit(EXIT_UNAVAILABLE);
  }
}
