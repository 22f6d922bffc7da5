import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describeMachine } from '../machine.ts';
import { calibrate } from './calibrate.ts';
import { drawChart } from './draw-chart.ts';
import { type Options, readOptions, USAGE, UsageError } from './options.ts';
import { tableOfOutages } from './outages.ts';
import { type Run, runScenario } from './run-scenario.ts';
import { NOMINAL_CAPACITY_PER_SECOND, nameOf, type Scenario } from './scenarios.ts';
import {
  doubtsAbout,
  tableOfCpu,
  tableOfOperations,
  tableOfOrdinaryLoads,
  tableOfPolite,
  tableOfRuns,
} from './tables.ts';

// `npm run bench:overload`: what clients get when more is asked than the indexer can answer. A quarter of a minute for
// each mode and load, everything on 127.0.0.1.

const RESULTS = new URL('../../../bench-results/', import.meta.url);
const CHART = new URL('../../../docs/overload.svg', import.meta.url);
/** EX_USAGE of sysexits.h. */
const EXIT_USAGE = 64;
/** Processes that start and end, and a machine that has other things to do. */
const SPARE_MS = 60_000;

const options = optionsOrExit();
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);

try {
  await bench(options);
} catch (error) {
  // All processes of the bench have ended by now.
  console.error(ending.signal.aborted ? 'ended by a signal' : error);
  process.exit(1);
}

async function bench({ trials, outages, isWhole }: Options): Promise<void> {
  const [date, machine] = [new Date().toISOString(), describeMachine()];
  const onWhat = `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${machine.system}, ${date.slice(0, 10)}`;
  console.log(onWhat);
  if (outages.length > 0) console.log(`\n${await tableOfOutages(outages, ending.signal)}\n`);
  if (trials.length === 0) return;
  const calibration = await calibrate();
  const { capacityPerSecond, generatorPerSecond, generatorCpuMicros } = calibration;
  console.log(`the indexer can answer ${capacityPerSecond.toFixed(0)} requests a second`);
  console.log(
    `the generator can ask ${generatorPerSecond.toFixed(0)}, each for ${generatorCpuMicros.toFixed(0)} µs of CPU`,
  );

  const runs: Run[] = [];
  for (const { mode, scenario } of trials) {
    console.log(`... ${mode.name}, ${nameOf(scenario)}`);
    runs.push(await runScenario(mode, scenario, AbortSignal.any([ending.signal, limitOf(scenario)])));
  }

  const tables = [
    tableOfOrdinaryLoads(runs),
    tableOfRuns(runs, capacityPerSecond),
    tableOfPolite(runs, capacityPerSecond),
    tableOfOperations(runs),
    tableOfCpu(runs),
  ];
  for (const table of tables) if (table !== undefined) console.log(`\n${table}`);
  console.log();
  const doubts = doubtsAbout(runs);
  if (doubts !== undefined) console.log(`${doubts}\n`);
  const name = `overload-${date.replaceAll(':', '-')}`;
  await save(new URL(`${name}.json`, RESULTS), JSON.stringify({ date, machine, ...calibration, runs }, undefined, 2));
  const chart = chartOf(runs, capacityPerSecond, onWhat);
  if (chart !== undefined) await save(isWhole ? CHART : new URL(`${name}.svg`, RESULTS), chart);
}

function optionsOrExit(): Options {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

/** The first signal ends the bench in good order; from the second on, at once. */
function end(): void {
  if (ending.signal.aborted) process.exit(1);
  ending.abort();
}

function limitOf({ phases }: Scenario): AbortSignal {
  return AbortSignal.timeout(phases.reduce((ms, { seconds }) => ms + seconds * 1000, SPARE_MS));
}

/** A line for each mode; none where there are no two loads to draw it between. */
function chartOf(runs: readonly Run[], capacityPerSecond: number, caption: string): string | undefined {
  const steady = runs.filter(({ scenario }) => scenario.kind === 'steady');
  if (new Set(steady.map(({ scenario }) => scenario.load)).size < 2) return undefined;
  const lines = [...new Set(steady.map(({ mode }) => mode))].map((name) => ({
    name,
    points: steady
      .filter(({ mode }) => mode === name)
      .map(({ scenario, load }) => ({
        load: scenario.load,
        goodputPerSecond: (load.rightMisses + load.rightHits) / load.seconds,
        p99Ms: load.anyP99Ms ?? 0,
      }))
      .sort((a, b) => a.load - b.load),
  }));
  return drawChart({ lines, capacityPerSecond, requestsPerSecond: NOMINAL_CAPACITY_PER_SECOND, caption });
}

async function save(file: URL, content: string): Promise<void> {
  await mkdir(new URL('.', file), { recursive: true });
  await writeFile(file, `${content}\n`);
  console.log(`saved in ${fileURLToPath(file)}`);
}
