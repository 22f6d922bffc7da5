import type { MetricSample } from '../../../../src/operate/samples.ts';

/** `name label=value ... number`, without the prefix. */
export function sample(line: string): MetricSample {
  const [name, ...words] = line.split(' ');
  const labels = Object.fromEntries(words.slice(0, -1).map((pair) => pair.split('=')));
  return { name: `toncache_${name}`, labels, value: Number(words.at(-1)) };
}
