import type { MetricSample } from '../../../../src/operate/samples.ts';

/** Parses `name label=value ... number`, where the name lacks its prefix `toncache_`. */
export function sample(line: string): MetricSample {
  const [name, ...words] = line.split(' ');
  const labels = Object.fromEntries(words.slice(0, -1).map((pair) => pair.split('=')));
  return { name: `toncache_${name}`, labels, value: Number(words.at(-1)) };
}
