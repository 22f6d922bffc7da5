import { parseArgs } from 'node:util';
import { exitOnSignals } from '../../support/launch.ts';
import { describeMachine, markdownTable } from '../support/report.ts';
import { CASES } from './cases.ts';
import { measure } from './measure.ts';

// `npm run bench:accounts`: clients that each poll their own account, or the jettons of their own owner, through instances with one Redis in
// front of a simulated indexer, and the share of the requests that reaches the indexer. Three minutes a case. `--case 20` runs
// the case of that name, or the cases whose name contains the word; `--seconds 20` measures for a shorter time.
// Everything on 127.0.0.1.

const HEAD = [
  'case',
  'polls',
  'at the indexer, all included',
  'about accounts',
  'a second: heads, blocks, pages, look-ups',
  'proven',
  'lacking a commit',
  'refused',
];

exitOnSignals();

const { values } = parseArgs({
  options: { case: { type: 'string', default: '' }, seconds: { type: 'string', default: '120' } },
});
const seconds = Number(values.seconds);
console.log(`${describeMachine()}; ${seconds} s each\n`);
const rows: string[][] = [];
const named = CASES.filter(({ name }) => name === values.case);
for (const one of named.length > 0 ? named : CASES.filter(({ name }) => name.includes(values.case))) {
  const measured = await measure(one, seconds);
  const { polls, total, aboutAccounts, heads, blocks, pages, lookUps, proven, lacking, latestMs, refused } = measured;
  const ofPolls = (count: number) => (polls === 0 ? '-' : `${((100 * count) / polls).toFixed(1)} %`);
  rows.push([
    one.name,
    String(polls),
    `${total}, ${ofPolls(total)}`,
    ofPolls(aboutAccounts),
    [heads, blocks, pages, lookUps].map((count) => (count / seconds).toFixed(1)).join(', '),
    ofPolls(proven),
    lacking === 0 ? '0' : `${lacking}, by up to ${latestMs} ms`,
    String(refused),
  ]);
  console.error(rows.at(-1)?.join('  '));
}
console.log(markdownTable(HEAD, rows));
