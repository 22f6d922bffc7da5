import { exitOnSignals } from '../../support/launch.ts';
import { describeMachine } from '../machine.ts';
import { markdownTable } from '../markdown-table.ts';
import { readOptions } from './options.ts';
import { tableOfOutages } from './outages.ts';
import { runScenario } from './run-scenario.ts';
import { HEAD, lateRuns, type Run, rowOf } from './tables.ts';

// `npm run bench:overload`: what clients get when more is asked than the indexer can answer. A quarter of a minute for
// each mode and load, everything on 127.0.0.1.

exitOnSignals();

const { trials, outages } = readOptions(process.argv.slice(2));
console.log(`${describeMachine()}\n`);
if (outages.length > 0) console.log(`${await tableOfOutages(outages)}\n`);
const runs: Run[] = [];
for (const { mode, scenario } of trials) {
  console.error(`... ${mode}, ${scenario.name}`);
  runs.push({ mode, scenario, ...(await runScenario(mode, scenario)) });
}
if (runs.length > 0) console.log(markdownTable(HEAD, runs.map(rowOf)));
const late = lateRuns(runs);
if (late.length > 0) console.log(`\nThe generator was late itself: do not rely on ${late.join('; ')}.`);
