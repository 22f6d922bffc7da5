import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http-client.ts';

/** An installed Prometheus with the alerts of a checkout, which reads one instance. */
export async function startPrometheus(adminUrl: string, checkout: string) {
  const folder = await mkdtemp(join(tmpdir(), 'toncache-situations-'));
  const { host } = new URL(adminUrl);
  const config = `global: { scrape_interval: 5s, evaluation_interval: 5s }
rule_files: [${join(checkout, 'config/prometheus/alerts.yml')}]
scrape_configs: [{ job_name: toncache, static_configs: [{ targets: ["${host}"] }] }]
`;
  await writeFile(join(folder, 'prometheus.yml'), config);
  const port = await freePort();
  const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const process = spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  return {
    /** The first firing alert. */
    firing: async (): Promise<string | undefined> => {
      const { text } = await ask(`http://127.0.0.1:${port}`, '/api/v1/alerts').catch(() => ({ text: '{}' }));
      const { data }: { data?: { alerts: { state: string; labels: { alertname: string } }[] } } = JSON.parse(text);
      return data?.alerts.find(({ state }) => state === 'firing')?.labels.alertname;
    },
    end: async () => {
      process.kill();
      await delay(500);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
