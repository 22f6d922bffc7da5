import { ask } from './http-client.ts';

/** The value of a metric of an instance, summed over the samples with all of these labels. */
export async function metricAt(
  adminUrl: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { text } = await ask(adminUrl, '/metrics');
  if (!text.includes(`# TYPE ${name.replace(/_count$/, '')} `)) throw new Error(`no metric is called ${name}`);
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const matching = samples.filter((line) => wanted.every((label) => line.includes(label)));
  return matching.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
