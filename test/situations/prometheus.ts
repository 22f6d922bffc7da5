import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ask } from '../support/http-client.ts';
import { startInstalled } from './installed.ts';

/** The labels of an alert that say which condition it is about. */
const OF_CONDITIONS = ['name', 'level', 'upstream'];

/**
 * An installed Prometheus with the alerts of a checkout, which reads one instance, and an Alertmanager with the
 * checkout's configuration if that is installed, too. Rejects without a Prometheus.
 */
export async function startPrometheus(adminUrl: string, checkout: string, stack: AsyncDisposableStack) {
  const manager = await startInstalled(['prometheus-alertmanager', 'alertmanager'], async (folder, host) => [
    `--config.file=${join(checkout, 'config/deploy/alertmanager.yml')}`,
    `--storage.path=${folder}`,
    `--web.listen-address=${host}`,
    '--cluster.listen-address=',
  ]);
  if (manager !== undefined) stack.use(manager);
  const prometheus = await startInstalled(['prometheus'], async (folder, host) => {
    const config = `global: { scrape_interval: 5s, evaluation_interval: 5s }
rule_files: [${join(checkout, 'config/prometheus/alerts.yml')}]
scrape_configs: [{ job_name: toncache, static_configs: [{ targets: ["${new URL(adminUrl).host}"] }] }]
alerting: { alertmanagers: [{ static_configs: [{ targets: [${manager ? `"${manager.host}"` : ''}] }] }] }
`;
    await writeFile(join(folder, 'prometheus.yml'), config);
    return [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${host}`,
    ];
  });
  if (prometheus === undefined)
    throw new Error('--alerts needs a prometheus on PATH (Debian: apt-get install prometheus)');
  stack.use(prometheus);
  return {
    /** The name of the first firing alert. */
    firing: async (): Promise<string | undefined> => {
      const { data } = await json<{ data?: { alerts: (Alert & { state: string })[] } }>(
        prometheus.host,
        '/api/v1/alerts',
      );
      return data?.alerts.find(({ state }) => state === 'firing')?.labels['alertname'];
    },
    /** The labels of an alert of this name in Alertmanager; absent if no Alertmanager is installed. */
    received:
      manager &&
      (async (alert: string): Promise<string | undefined> => {
        const received = await json<Alert[]>(manager.host, '/api/v2/alerts', '[]');
        const labels = received.find((each) => each.labels['alertname'] === alert)?.labels;
        const shown = OF_CONDITIONS.filter((name) => labels?.[name]).map((name) => `${name}=${labels?.[name]}`);
        return labels && (shown.join(' ') || 'without labels of a condition');
      }),
  };
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
}

/** The body of an answer; empty while the server starts. */
async function json<T>(host: string, target: string, empty = '{}'): Promise<T> {
  const { text } = await ask(`http://${host}`, target).catch(() => ({ text: empty }));
  return JSON.parse(text);
}
