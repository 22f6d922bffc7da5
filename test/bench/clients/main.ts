import { parseArgs } from 'node:util';
import { SETTINGS } from '../../clients/census.ts';
import { exitOnSignals } from '../../support/launch.ts';
import { describeMachine, markdownTable } from '../support/report.ts';
import { measure } from './measure.ts';
import { MIXES } from './mix.ts';

// `npm run bench:clients`: public clients in the exact forms of `test/clients/census.ts`, with the settings of
// docs/start/your-clients.md, in front of a simulated indexer. 90 s, everything on 127.0.0.1. It prints the requests of
// the clients, those at the indexer, and in a row of their own those of toncache itself, and the largest resident memory.
// `--seconds 35` is the time that is counted, `--times 10` ten times the clients; `--mix swap` plays only swap widgets;
// `--instances 8` sends to instances in turn, and `--sidecars 4` divides the clients among sidecars without Redis;
// `--operations passthrough` is another CACHE_OPERATIONS.

exitOnSignals();

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '35' },
    times: { type: 'string', default: '1' },
    mix: { type: 'string', default: 'all' },
    instances: { type: 'string', default: '1' },
    sidecars: { type: 'string', default: '0' },
    operations: { type: 'string', default: SETTINGS.CACHE_OPERATIONS },
  },
});
const seconds = Number(values.seconds);
const mix = Object.entries(MIXES).find(([name]) => name === values.mix)?.[1];
if (mix === undefined) throw new Error(`--mix must be one of ${Object.keys(MIXES)}`);
const { asked, atIndexer, own, failed, residentBytes } = await measure({
  settings: { ...SETTINGS, CACHE_OPERATIONS: values.operations },
  seconds,
  mix,
  instances: Number(values.instances),
  sidecars: Number(values.sidecars),
  times: Number(values.times),
});

const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0);
const saved = (requests: number, arrived: number) =>
  requests === 0 ? '-' : `${((100 * (requests - arrived)) / requests).toFixed(1)} %`;
const operations = [...new Set([...asked.keys(), ...atIndexer.keys()])];
const rows = operations
  .map((operation) => ({ operation, requests: asked.get(operation) ?? 0, arrived: atIndexer.get(operation) ?? 0 }))
  .toSorted((a, b) => b.requests - a.requests)
  .map(({ operation, requests, arrived }) => [operation, String(requests), String(arrived), saved(requests, arrived)]);
const perSecond = Math.round(sum(asked) / seconds);
console.log(
  `${describeMachine()}; CACHE_OPERATIONS=${values.operations}; ${seconds} s; ${perSecond} requests a second\n`,
);
console.log(
  markdownTable(
    ['operation', 'asked', 'at the indexer', 'saved'],
    [
      ...rows,
      ['toncache itself', '', String(own), ''],
      ['all', String(sum(asked)), String(sum(atIndexer) + own), saved(sum(asked), sum(atIndexer) + own)],
    ],
  ),
);
const MIB = 2 ** 20;
const resident = residentBytes.map((bytes) => `${Math.ceil(bytes / MIB)} MiB`).join(', ');
const failures = [...failed].map(([why, count]) => `${count} times ${why}`).join(', ') || 'no failure';
console.log(`\n${failures}; ${resident} resident`);
