import { parseArgs } from 'node:util';
import { SETTINGS } from '../../clients/census.ts';
import { exitOnSignals } from '../../support/launch.ts';
import { describeMachine, markdownTable } from '../support/report.ts';
import { measure } from './measure.ts';

// `npm run bench:clients`: public clients in the exact forms of `test/clients/census.ts`, with the settings of
// docs/start/your-clients.md, in front of a simulated indexer. 90 s, everything on 127.0.0.1. It prints the requests of
// the clients and those at the indexer, the follower's included. `--seconds 35` is the time that is counted.

exitOnSignals();

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '35' } } });
const { asked, atIndexer, refused } = await measure(SETTINGS, Number(values.seconds));

const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0);
const saved = (requests: number, arrived: number) =>
  requests === 0 ? '-' : `${((100 * (requests - arrived)) / requests).toFixed(1)} %`;
const operations = [...new Set([...asked.keys(), ...atIndexer.keys()])];
const rows = operations
  .map((operation) => ({ operation, requests: asked.get(operation) ?? 0, arrived: atIndexer.get(operation) ?? 0 }))
  .toSorted((a, b) => b.requests - a.requests)
  .map(({ operation, requests, arrived }) => [operation, String(requests), String(arrived), saved(requests, arrived)]);
console.log(`${describeMachine()}; ${values.seconds} s\n`);
console.log(
  markdownTable(
    ['operation', 'asked', 'at the indexer', 'saved'],
    [...rows, ['all', String(sum(asked)), String(sum(atIndexer)), saved(sum(asked), sum(atIndexer))]],
  ),
);
console.log(`\n${refused} refused`);
