import type { MetricSample } from '../telemetry/samples.ts';

/** Reads a page in Prometheus' text format 0.0.4; lines that are not samples are left out. */
export function parseMetrics(page: string): MetricSample[] {
  return page.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/i.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: parseLabels(labels), value: numberOf(value) }];
  });
}

function parseLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-z_]\w*)="((?:[^"\\]|\\.)*)"/gi)].map(
    ([, name = '', value = '']): [string, string] => [
      name,
      value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
    ],
  );
  return Object.fromEntries(pairs);
}

function numberOf(text: string): number {
  return Number(text.replace(/^([+-]?)Inf$/, '$1Infinity'));
}
