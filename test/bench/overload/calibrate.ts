import { launch, textIn } from '../launch.ts';
import { ENDS_WITH_PARENT } from './ends-with-parent.ts';
import { startBusyIndexer } from './indexer-process.ts';
import type { Saturation, SaturationOrder } from './saturate.ts';

/** What the figures are to be read against. */
export interface Calibration {
  /** What the indexer answers when it always has enough to do. */
  readonly capacityPerSecond: number;
  /** What the generator can do with a server that costs nearly nothing, on its share of the machine. */
  readonly generatorPerSecond: number;
  readonly generatorCpuMicros: number;
}

const SECONDS = 3;
const NOMINAL_SERVICE_MS = 50;
/** Twice the indexer's workers. */
const OPEN_AT_INDEXER = 40;
const OPEN_AT_READY_SERVER = 64;

/** Measures both, one after the other. */
export async function calibrate(): Promise<Calibration> {
  const { answersPerSecond, cpuMicrosPerAnswer } = await generatorAlone();
  return {
    capacityPerSecond: await capacityOfIndexer(),
    generatorPerSecond: answersPerSecond,
    generatorCpuMicros: cpuMicrosPerAnswer,
  };
}

async function generatorAlone(): Promise<Saturation> {
  await using server = launch(new URL('./ready-server.ts', import.meta.url), { nodeArgs: ENDS_WITH_PARENT });
  const url = await server.next(textIn('url'));
  return await saturate({ port: portOf(url), open: OPEN_AT_READY_SERVER, seconds: SECONDS });
}

async function capacityOfIndexer(): Promise<number> {
  await using indexer = await startBusyIndexer(NOMINAL_SERVICE_MS);
  const { answersPerSecond } = await saturate({ port: portOf(indexer.url), open: OPEN_AT_INDEXER, seconds: SECONDS });
  return answersPerSecond;
}

async function saturate(order: SaturationOrder): Promise<Saturation> {
  const program = new URL('./saturate.ts', import.meta.url);
  await using generator = launch(program, { args: [JSON.stringify(order)], nodeArgs: ENDS_WITH_PARENT });
  return await generator.next((line) => line as Saturation);
}

/** The port of a URL with one. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}
