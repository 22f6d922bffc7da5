import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { loadSettings, SETTINGS } from '../../src/config/load.ts';
import { SETTINGS as BEST } from '../clients/census.ts';
import { commandsOf } from '../support/documented-commands.ts';
import { accepts, headOf, helmAnswers, MANIFESTS, read, render } from './manifests.ts';

describe.each(Object.keys(MANIFESTS))('%s', (path) => {
  it('equals the chart as helm renders it, or has the right digest if helm is not installed', () => {
    const committed = read(path);
    const rest = committed.split('\n').slice(2).join('\n');
    expect(committed).toBe(helmAnswers() ? render(path) : headOf(rest) + rest);
  });
});

/** The part of a rendered manifest that begins with this kind. */
const ofKind = (text: string, kind: string) => text.split('\n---\n').find((part) => part.includes(`\nkind: ${kind}\n`));

describe('the chart with all values', () => {
  const [shared, sidecar] = ['shared', 'sidecar'].map((shape) => read(`test/docs/all-values/${shape}.yaml`));

  it.each([shared, sidecar])('has them in the pods of both shapes', (text = '') => {
    const deployment = ofKind(text, 'Deployment') ?? '';
    const [, template = ''] = deployment.split('\n  template:\n');
    const [metadata = '', spec = ''] = template.split('\n    spec:\n');
    expect(metadata).toMatch(/^ {6}annotations:\n(?: {8}.*\n)* {8}example\.org\/scrape: "false"/m);
    expect(spec).toContain('      serviceAccountName: toncache\n');
    expect(spec).toMatch(/^ {6}imagePullSecrets:\n {8}- name: registry$/m);
    expect(spec).toMatch(/^ {6}nodeSelector:\n {8}kubernetes\.io\/arch: arm64$/m);
    expect(spec).toMatch(/^ {6}tolerations:\n {8}- effect: NoSchedule\n {10}key: cache\n {10}operator: Exists$/m);
    expect(spec).toMatch(/^ {6}affinity:\n {8}nodeAffinity:$/m);
    const images = [...spec.matchAll(/^( +)image: ghcr\.io\/you\/toncache:0\.2\.0\n\1imagePullPolicy: Always$/gm)];
    expect(images).toHaveLength(text === shared ? 2 : 1);
    expect(ofKind(text, 'ServiceAccount')).toMatch(/\n {2}annotations:\n {4}example\.org\/role: cache/);
  });

  it('has an Ingress, and neither an autoscaler nor a budget if they are off', () => {
    const [text = ''] = [shared];
    expect(ofKind(text, 'Deployment')).toMatch(/\nspec:\n(?:.*\n)? {2}replicas: 3\n/);
    for (const kind of ['HorizontalPodAutoscaler', 'PodDisruptionBudget', 'NetworkPolicy'])
      expect(ofKind(text, kind)).toBeUndefined();
    const ingress = ofKind(text, 'Ingress') ?? '';
    expect([...ingress.matchAll(/- host: "(\S+)"/g)].map(([, host]) => host)).toEqual([
      'ton.example.org',
      'ton2.example.org',
    ]);
    expect(ingress).toContain('ingressClassName: nginx\n');
    expect(ingress.match(/port: \{ name: http \}/g)).toHaveLength(2);
    expect(ingress).not.toContain('admin');
  });
});

it('each key of the Secret is optional, in both shapes', () => {
  expect(read('config/deploy/kubernetes/shared.yaml').match(/key: [a-z-]+, optional: true \}/g)).toHaveLength(6);
  expect(read('config/deploy/helm/templates/_helpers.tpl').match(/secretKeyRef.*key: [a-z-]+ \}/g)).toBeNull();
});

describe('values.schema.json', () => {
  type Group = { readonly properties?: Readonly<Record<string, Group>> };
  const schema: Group = JSON.parse(read('config/deploy/helm/values.schema.json'));
  const values = read('config/deploy/helm/values.yaml');

  it('has each value of values.yaml, and no other', () => {
    const groups = values.split(/^(?=\w+:)/m).slice(1);
    const known = { ...schema.properties };
    delete known['global'];
    expect(groups.map((text) => /^\w+/.exec(text)?.[0])).toEqual(expect.arrayContaining(Object.keys(known)));
    expect(groups).toHaveLength(Object.keys(known).length);
    for (const text of groups) {
      const inner = [...text.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name);
      const group = known[/^\w+/.exec(text)?.[0] ?? ''];
      if (inner.length > 0) expect(Object.keys(group?.properties ?? {}).toSorted()).toEqual(inner.toSorted());
    }
  });

  it('refuses unknown values in each group, and wrong ones if helm is installed', () => {
    const groups = (group: Group): Group[] =>
      group.properties === undefined ? [] : [group, ...Object.values(group.properties).flatMap(groups)];
    expect(groups(schema).length).toBeGreaterThan(10);
    for (const group of groups(schema)) expect(group).toMatchObject({ additionalProperties: false });
    if (!helmAnswers()) return;
    expect(accepts('--set', 'image.pullPolicy=Always')).toBe(true);
    for (const wrong of [
      'imagePullSecret[0].name=x',
      'shared.autoscalling.enabled=false',
      'shared.ingress.enabled=true',
      'image.pullPolicy=Sometimes',
    ])
      expect(accepts('--set', wrong), wrong).toBe(false);
  });
});

it.each(['shared', 'sidecar'])('the settings of %s.yaml are valid, and toncache reads all its variables', (shape) => {
  const text = read(`config/deploy/kubernetes/${shape}.yaml`);
  const folder = mkdtempSync(join(tmpdir(), 'toncache-manifests-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'settings.json');
  const [, settings = ''] = /settings\.json: \|\n((?: {4}.*\n)+)/.exec(text) ?? [];
  writeFileSync(file, settings);
  const container = text.slice(text.indexOf('- name: toncache'));
  const given = [...container.matchAll(/- \{ name: ([A-Z_]+), value: "?([^" ]+)"? \}/g)];
  const env = Object.fromEntries(given.map(([, name = '', value = '']) => [name, value]));
  // Of the service next to it, of Node, and of the C library.
  for (const other of ['TON_API_URL', 'NODE_OPTIONS', 'MALLOC_ARENA_MAX']) delete env[other];
  const bySecret = [...container.matchAll(/- name: ([A-Z_]+)\n/g)].map(([, name]) => name);
  const known = ['CONFIG_FILE', ...SETTINGS.flatMap((setting) => setting.env ?? [])];
  expect(known).toEqual(expect.arrayContaining([...Object.keys(env), ...bySecret]));
  const loaded = loadSettings({ ...env, CONFIG_FILE: file });
  expect(loaded.settings.memory.maxSize).toBe(shape === 'shared' ? 2 ** 30 : 2 ** 26);
});

it('the variables of toncenter.override.yaml are valid', () => {
  const given = [...read('config/deploy/toncenter.override.yaml').matchAll(/^ {6}([A-Z_]+): "?(.*?)"?$/gm)];
  const env = Object.fromEntries(given.map(([, name, value = '']) => [name, value.replace(/\$\{\w+:-(\w*)\}/, '$1')]));
  expect(SETTINGS.flatMap((setting) => setting.env ?? [])).toEqual(expect.arrayContaining(Object.keys(env)));
  const { settings } = loadSettings(env);
  expect([settings.upstream.url, settings.passThrough.enabled]).toEqual([['http://index-api:8081'], true]);
});

const ADVISING = ['docs/start/deployment.md', 'docs/start/your-clients.md'];
/** The variables that these pages tell people to set. */
const ADVISED = SETTINGS.flatMap(({ env }) => env ?? []).filter((name) =>
  ADVISING.some((page) => new RegExp(`\\b${name}\\b`).test(read(page))),
);

/** Variables that a file does not take from outside, with the reason. */
const OF_THE_FILE: Readonly<Record<string, string>> = {
  HOST: 'the container and the service in front of it decide',
  MEMORY_MAX_SIZE: 'fits the memory of the container: both are in the file',
  REUSE_PORT: 'is for several processes on one host',
};

it.each([
  ['config/deploy/compose.yaml', ['config/deploy/compose.yaml']],
  ['the chart', ['config/deploy/helm/values.yaml', 'config/deploy/helm/templates/_helpers.tpl']],
])('%s names each variable that deployment.md and your-clients.md tell people to set', (_, files) => {
  expect(ADVISED).toEqual(expect.arrayContaining(['CACHE_OPERATIONS', 'PASSTHROUGH', 'UPSTREAM_RPS', 'STREAM_URL']));
  const text = files.map(read).join('\n');
  const missing = ADVISED.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
  expect(missing.filter((name) => !Object.hasOwn(OF_THE_FILE, name))).toEqual([]);
});

it('compose.yaml hands each of them on, under its own name', () => {
  const given = [...read('config/deploy/compose.yaml').matchAll(/^ {6}([A-Z_]+): \$\{(\w+)/gm)];
  expect(given.filter(([, name, from]) => name !== from)).toEqual([]);
  const known = SETTINGS.flatMap((setting) => setting.env ?? []);
  expect(known).toEqual(expect.arrayContaining(given.flatMap(([, name]) => (name === undefined ? [] : [name]))));
});

it('compose.yaml, systemd, the shared chart and deployment.md have the settings of your-clients.md', () => {
  const { CACHE_OPERATIONS, PASSTHROUGH } = BEST;
  const compose = read('config/deploy/compose.yaml');
  expect(compose).toContain(`CACHE_OPERATIONS: \${CACHE_OPERATIONS-${CACHE_OPERATIONS}}\n`);
  expect(compose).toContain(`PASSTHROUGH: \${PASSTHROUGH-${PASSTHROUGH}}\n`);
  const both = `CACHE_OPERATIONS=${CACHE_OPERATIONS} PASSTHROUGH=${PASSTHROUGH}`;
  expect(read('config/deploy/systemd/toncache@.service')).toContain(`\nEnvironment=${both}\n`);
  const settings = /settings\.json: \|\n((?: {4}.*\n)+)/.exec(read('config/deploy/kubernetes/shared.yaml'))?.[1] ?? '';
  expect(JSON.parse(settings)).toMatchObject({ operations: CACHE_OPERATIONS, passThrough: { enabled: true } });
  const starts = commandsOf(read('docs/start/deployment.md')).filter((line) =>
    / start$|^docker run --read-only/.test(line),
  );
  // The sidecar has a reason of its own.
  const others = starts
    .filter((line) => !line.includes('config/sidecar.json'))
    .map((line) => line.replace(/ -e (?=PASS)/, ' '));
  expect(others).toHaveLength(3);
  expect(others.filter((line) => !line.includes(both))).toEqual([]);
});

it('the PodMonitor sets the job label that the alerts select', () => {
  expect(read('config/deploy/kubernetes/podmonitor.yaml')).toContain('jobLabel: app.kubernetes.io/name\n');
  expect(read('config/deploy/kubernetes/shared.yaml')).toContain('app.kubernetes.io/name: toncache\n');
  expect(read('config/prometheus/alerts.yml')).toContain('up{job=~"(.*/)?toncache.*"}');
});

it('the scrape job in docs/how-to/monitor.md and in prometheus.yml has a name that the alerts select', () => {
  const [, names = ''] = /up\{job=~"(.*?)"\}/.exec(read('config/prometheus/alerts.yml')) ?? [];
  for (const file of ['docs/how-to/monitor.md', 'config/deploy/prometheus.yml']) {
    const [, name = ''] = /- job_name: (\S+)/.exec(read(file)) ?? [];
    expect([file, name]).toEqual([file, expect.stringMatching(new RegExp(`^${names}$`))]);
  }
  expect(read('docs/how-to/monitor.md')).toContain('targets: ["127.0.0.1:9464"]');
});

it.each(['shared', 'sidecar'])('each container of %s.yaml meets Pod Security "restricted"', (shape) => {
  const [, ...containers] = read(`config/deploy/kubernetes/${shape}.yaml`).split(/^ +- name: \S+\n +image: /m);
  expect(containers).toHaveLength(2);
  for (const container of containers) {
    expect(container).toMatch(/allowPrivilegeEscalation: false/);
    expect(container).toMatch(/runAsNonRoot: true/);
    expect(container).toMatch(/drop:(?: \[|\s+- )ALL/);
    expect(container).toMatch(/type: RuntimeDefault/);
  }
});

it('no policy of the sidecar blocks the clients of its service', () => {
  expect(read('config/deploy/kubernetes/sidecar.yaml')).not.toContain('kind: NetworkPolicy');
});

it('package, chart, image and changelog name the same version', () => {
  const { version } = manifest;
  const chart = read('config/deploy/helm/Chart.yaml');
  expect([/^version: (.*)$/m.exec(chart)?.[1], /^appVersion: (.*)$/m.exec(chart)?.[1]]).toEqual([version, version]);
  expect(/^ARG VERSION=(.*)$/m.exec(read('Dockerfile'))?.[1]).toBe(version);
  expect(/^## \[(\d.*?)\]/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
});
