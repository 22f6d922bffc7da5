import { describe, expect, it } from 'vitest';
import { nginxConfiguration, varnishConfiguration } from './configurations.ts';
import { drawWorkload } from './draw-workload.ts';
import type { Verdict } from './judge.ts';
import { readOptions } from './options.ts';
import { rowOf, tableOfRows } from './report.ts';

const verdict = (kind: Verdict['kind'], tookMs: number): Verdict => ({
  kind,
  staleMs: 0,
  trueFrom: 0,
  answer: { call: { about: 'block', seqno: 1 }, sentAt: 0, receivedAt: tookMs, status: 200, text: '' },
});
const upstream = { pendingTraces: 1, adjacentTransactions: 0, masterchainBlockShards: 0, total: 1 };
const verdicts = [verdict('right', 1), verdict('right', 2), verdict('lie', 3), verdict('failed', 40)];
const row = rowOf('toncache', verdicts, upstream, { traces: [100, 300, 200], blocks: [] });

describe('the report', () => {
  it('sums up a mode', () => {
    expect(row).toMatchObject({ requests: 4, lies: 1, failed: 1, p50Ms: 2, traceSeen: { p50Ms: 200 } });
    const line = tableOfRows([row]).split('\n').at(-1);
    expect(line?.split('|').map((cell) => cell.trim())).toEqual([
      ...['', 'toncache', '4', '1', '1, 0, 0', '75.0 %', '2, 3', '1', '1', '0', '200, 200', '-, -', ''],
    ]);
  });

  it('has a chart with a bar for each mode, readable in light and in dark', () => {
    const chart = drawWorkload([row, { ...row, mode: 'a < b' }], 'caption');
    expect(chart).toContain('1 (75 % spared)');
    expect(chart).toContain('>a &lt; b</text>');
    expect(chart).toContain('prefers-color-scheme:dark');
  });
});

describe('the configurations', () => {
  it('have one load for all who wait, and lifetimes for each operation', () => {
    const nginx = nginxConfiguration({ folder: '/f', indexerPort: 1, port: 2, isRoot: true });
    expect(nginx).toMatch(/^user root;/);
    expect(nginx).toContain('proxy_cache_lock on;');
    for (const operation of ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards']) {
      expect(nginx).toContain(`location = /api/v3/${operation} {`);
      expect(varnishConfiguration(1)).toContain(`^/api/v3/${operation}`);
    }
  });
});

describe('the options', () => {
  it('run every mode but the stream, unless told', () => {
    expect(readOptions([])).toEqual({
      modes: ['direct', 'nginx', 'Varnish', 'toncache'],
      seconds: 40,
      crowd: 2,
      seed: '1',
    });
    expect(readOptions(['--modes', 'varnish,toncache', '--stream']).modes).toEqual([
      ...['Varnish', 'toncache', 'toncache, stream'],
    ]);
  });

  it.each([
    [['--modes', 'squid'], '--modes accepts direct, nginx, Varnish, toncache'],
    [['--seconds', '0'], '--seconds accepts an integer from 1 to 1500'],
    [['--crowd', '21'], '--crowd accepts an integer from 1 to 20'],
    [['--fast'], '--fast'],
  ])('say what is accepted (%j)', (args, problem) => {
    expect(() => readOptions(args)).toThrow(problem);
  });
});
