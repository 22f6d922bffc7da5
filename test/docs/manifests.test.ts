import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { loadSettings, SETTINGS } from '../../src/config/load.ts';
import { headOf, helmAnswers, MANIFESTS, read, render } from './manifests.ts';

describe.each(Object.keys(MANIFESTS))('%s', (path) => {
  it('equals the chart as helm renders it, or has the right digest if helm is not installed', () => {
    const committed = read(path);
    const rest = committed.split('\n').slice(2).join('\n');
    expect(committed).toBe(helmAnswers() ? render(path) : headOf(rest) + rest);
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

it('the PodMonitor sets the job label that the alerts select', () => {
  expect(read('config/deploy/kubernetes/podmonitor.yaml')).toContain('jobLabel: app.kubernetes.io/name\n');
  expect(read('config/deploy/kubernetes/shared.yaml')).toContain('app.kubernetes.io/name: toncache\n');
  expect(read('config/prometheus/alerts.yml')).toContain('up{job=~"(.*/)?toncache.*"}');
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
