import { describe, expect, it } from 'vitest';
import type { Case } from './cases.ts';
import type { Measured } from './measure.ts';
import { tableOfBytes, tableOfCpu } from './tables.ts';

const hits: Case = { kind: 'hits', sizeKb: 2, urls: 500, gzip: false };

function measured(compared: Case, peer: string, micros: readonly number[]): Measured {
  const samples = micros.map((cpuMicrosPerRequest) => ({
    cpuMicrosPerRequest,
    requestsPerSecond: 1,
    bytesPerRequest: 2300,
    p99Ms: 1,
  }));
  return { compared, peer, samples };
}

describe('the table of CPU time', () => {
  it('shows medians, and how many times the time of the first server each other one takes', () => {
    const rows = [measured(hits, 'toncache', [10, 99, 20]), measured(hits, 'nginx', [8, 12])];
    expect(tableOfCpu(rows)).toBe(
      [
        '| CPU µs a request |   server |        2 KB |',
        '| ---------------- | -------: | ----------: |',
        '| hits, 500 URLs   | toncache |        20.0 |',
        '|                  |    nginx | 10.0 (0.50) |',
      ].join('\n'),
    );
  });

  it('has a column for each size, and no figure where a server took no part', () => {
    const large = { ...hits, sizeKb: 200, urls: 200 };
    const rows = [measured(hits, 'toncache', [10]), measured(large, 'toncache', [100]), measured(large, 'nginx', [25])];
    expect(tableOfCpu(rows).split('\n').at(-1)).toMatch(/\| +\| +nginx \| +\| 25\.0 \(0\.25\) \|/);
  });
});

describe('the table of bytes', () => {
  it('is about clients that accept gzip', () => {
    expect(tableOfBytes([measured(hits, 'toncache', [10])])).toBe('');
    const table = tableOfBytes([measured({ ...hits, gzip: true }, 'toncache', [10])]);
    expect(table).toContain('| hits, 500 URLs, gzip | toncache |  2.3 |');
  });
});
