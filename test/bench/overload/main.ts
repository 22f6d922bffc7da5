import { exitOnSignals } from '../../support/launch.ts';
import { describeMachine } from '../support/report.ts';
import { readOptions } from './options.ts';
import { tableOfOutages } from './outages.ts';
import { type Run, runScenario } from './run-scenario.ts';
import { type Simulated, simulateDelayedBursts, simulateNewcomers } from './simulated.ts';
import { tableOf } from './tables.ts';

// `npm run bench:overload`: the answers that clients get when they request more than the indexer can answer. A quarter
// of a minute for each mode and load, everything on 127.0.0.1. The simulated part is also checked: the run fails if a
// promise is broken.

exitOnSignals();

const { trials, measuresOutages, simulatesNewcomers, simulatesDelayedBursts } = readOptions(process.argv.slice(2));
console.log(`${describeMachine()}\n`);
if (simulatesNewcomers) report(await simulateNewcomers());
if (simulatesDelayedBursts) report(await simulateDelayedBursts());
if (measuresOutages) console.log(`${await tableOfOutages()}\n`);
const runs: Run[] = [];
for (const trial of trials) {
  console.error(`... ${trial.mode}, ${trial.scenario.name}`);
  runs.push(await runScenario(trial));
}
if (runs.length > 0) console.log(tableOf(runs));

function report({ table, isAsPromised }: Simulated): void {
  console.log(`${table}\n`);
  if (isAsPromised) return;
  console.error('not as promised');
  process.exitCode = 1;
}
