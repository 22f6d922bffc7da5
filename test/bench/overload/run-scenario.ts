import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Launched, launch } from '../launch.ts';
import { startToncache, type ToncacheProcess } from '../toncache-process.ts';
import { portOf } from './calibrate.ts';
import { ENDS_WITH_PARENT } from './ends-with-parent.ts';
import type { Border, LoadOrder, LoadResult } from './generate-load.ts';
import { type IndexerProcess, startBusyIndexer } from './indexer-process.ts';
import type { Mode, ToncacheSettings } from './modes.ts';
import { POLITE, type Scenario } from './scenarios.ts';
import type { Tallied } from './tally.ts';

/** More than the greediest load takes. */
const KEYS_OF_THE_POLITE = 25_000;

/** What one scenario did in one mode. */
export interface Run {
  readonly mode: string;
  readonly scenario: Scenario;
  readonly load: Tallied;
  readonly after: Tallied;
  /** What the {@link POLITE} got during the load, where there are any. */
  readonly polite: Tallied | undefined;
  /** The most requests that the indexer had in hand during the load. */
  readonly maxAtIndexer: number;
  readonly cpu: CpuShares;
}

/** Cores in use during the load: 1 is one core all the time. */
export interface CpuShares {
  readonly indexer: number;
  readonly toncache: number | undefined;
  readonly generator: number;
  /** Whatever else runs on the machine: the more of it, the less the figures say. */
  readonly others: number;
  readonly idle: number;
}

/** What was used up to a border between two phases, in milliseconds; `at` is epoch ms. */
interface Reading {
  readonly at: number;
  readonly indexerMs: number;
  readonly toncacheMs: number | undefined;
  readonly generatorMs: number;
  readonly machineMs: number;
  readonly idleMs: number;
}

/** Runs a scenario with processes of its own, all of which have ended when it returns; `signal` ends it early. */
export async function runScenario(mode: Mode, scenario: Scenario, signal: AbortSignal): Promise<Run> {
  await using indexer = await startBusyIndexer(scenario.serviceMs, scenario.fault);
  await using toncache = mode.toncache && (await startMode(mode.toncache, indexer.url));
  const { clients } = scenario;
  const order: LoadOrder = {
    port: portOf(toncache?.url ?? indexer.url),
    chainStartAt: indexer.chainStartAt,
    phases: toncache && scenario.warmUp ? [scenario.warmUp, ...scenario.phases] : scenario.phases,
    walletsRetry: scenario.kind === 'wallets',
    addresses: addresses(1, clients ?? 1),
    skip: 0,
  };
  await using generator = startGenerator(order);
  await using politeGenerator =
    clients === undefined
      ? undefined
      : startGenerator({
          ...order,
          phases: order.phases.map(({ seconds }) => ({ seconds, rates: POLITE.rates })),
          addresses: addresses(2, POLITE.clients),
          skip: KEYS_OF_THE_POLITE,
        });
  signal.throwIfAborted();
  // Everything that takes long waits for what the generator tells.
  signal.addEventListener('abort', () => void generator[Symbol.asyncDispose]());

  const readings: Reading[] = [];
  for (let border = 0; border <= order.phases.length; border++) {
    const { cpuMs } = await generator.next((line) => line as Border);
    readings.push(await read(indexer, toncache, cpuMs));
  }
  const { tallied } = await generator.next(resultIn);
  const polite = await politeGenerator?.next(resultIn);
  const [begin, end] = readings.slice(-3);
  const [load, after] = tallied.slice(-2);
  if (!begin || !end || !load || !after) throw new Error('a phase is missing');
  return {
    mode: mode.name,
    scenario,
    load,
    after,
    polite: polite?.tallied.at(-2),
    maxAtIndexer: indexer.maxInHand(begin.at, end.at),
    cpu: sharesBetween(begin, end),
  };
}

function startGenerator(order: LoadOrder): Launched {
  const program = new URL('./generate-load.ts', import.meta.url);
  return launch(program, { args: [JSON.stringify(order)], nodeArgs: ENDS_WITH_PARENT });
}

function resultIn(line: unknown): LoadResult | undefined {
  return typeof line === 'object' && line !== null && 'tallied' in line ? (line as LoadResult) : undefined;
}

function addresses(network: number, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `127.0.${network}.${number + 1}`);
}

async function startMode({ file, environment = {} }: ToncacheSettings, indexerUrl: string): Promise<ToncacheProcess> {
  const settings = { UPSTREAM_URL: indexerUrl, ...environment };
  if (file === undefined) return startToncache(settings, ENDS_WITH_PARENT);
  await using directory = await mkdtempDisposable(join(tmpdir(), 'toncache-bench-'));
  const CONFIG_FILE = join(directory.path, 'config.json');
  await writeFile(CONFIG_FILE, JSON.stringify(file));
  return await startToncache({ ...settings, CONFIG_FILE }, ENDS_WITH_PARENT);
}

async function read(
  indexer: IndexerProcess,
  toncache: ToncacheProcess | undefined,
  generatorMs: number,
): Promise<Reading> {
  const at = Date.now();
  const cores = cpus().map(({ times: { idle, ...busy } }) => ({ idle, busy: sum(Object.values(busy)) }));
  const usage = await toncache?.usage();
  return {
    at,
    indexerMs: indexer.cpuMsAt(at),
    toncacheMs: usage && usage.cpuSeconds * 1000,
    generatorMs,
    machineMs: sum(cores.map(({ busy }) => busy)),
    idleMs: sum(cores.map(({ idle }) => idle)),
  };
}

function sharesBetween(begin: Reading, end: Reading): CpuShares {
  const share = (used: (reading: Reading) => number) => (used(end) - used(begin)) / (end.at - begin.at);
  const indexer = share(({ indexerMs }) => indexerMs);
  const toncache = end.toncacheMs === undefined ? undefined : share(({ toncacheMs }) => toncacheMs ?? 0);
  const generator = share(({ generatorMs }) => generatorMs);
  const others = share(({ machineMs }) => machineMs) - indexer - (toncache ?? 0) - generator;
  return { indexer, toncache, generator, others: Math.max(0, others), idle: share(({ idleMs }) => idleMs) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
