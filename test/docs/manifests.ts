import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CHART = 'config/deploy/helm';

/** The plain manifests by their paths, with helm's arguments to render each of them from the chart. */
export const MANIFESTS: Readonly<Record<string, readonly string[]>> = {
  'config/deploy/kubernetes/shared.yaml': ['--values', `${CHART}/examples/shared.yaml`],
  'config/deploy/kubernetes/sidecar.yaml': ['--set', 'shape=sidecar'],
  'config/deploy/kubernetes/podmonitor.yaml': [
    ...['--set', 'podMonitor.enabled=true'],
    ...['--show-only', 'templates/podmonitor.yaml'],
  ],
  // Not for anybody's cluster: each value that renders nothing by default, in both shapes.
  'test/docs/all-values/shared.yaml': ['--values', 'test/docs/all-values/values.yaml'],
  'test/docs/all-values/sidecar.yaml': ['--values', 'test/docs/all-values/values.yaml', '--set', 'shape=sidecar'],
};

export function helmAnswers(): boolean {
  return spawnSync('helm', ['version']).status === 0;
}

/** True if helm renders the chart with these arguments: its schema accepts the values. */
export function accepts(...given: readonly string[]): boolean {
  const args = ['template', 'toncache', CHART, '--kube-version', '1.30.0', ...given];
  return spawnSync('helm', args, { cwd: ROOT }).status === 0;
}

/** A manifest as helm renders it now, below its {@link headOf}. Throws helm's error if it cannot. */
export function render(path: string): string {
  // A helm that was built without a Kubernetes version has a default that is older than the chart allows.
  const args = ['template', 'toncache', CHART, '--kube-version', '1.30.0', ...(MANIFESTS[path] ?? [])];
  const { status, stdout, stderr, error } = spawnSync('helm', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`helm does not render ${path}: ${stderr}`, { cause: error });
  return headOf(stdout) + stdout;
}

/**
 * The first lines of a manifest. Their digest covers the chart and the rest of the manifest, for machines without helm.
 */
export function headOf(rest: string): string {
  const files = globSync(`${CHART}/**/*.{yaml,tpl,txt}`, { cwd: ROOT }).toSorted();
  const digest = hash('sha256', [...files.flatMap((file) => [file, read(file)]), rest].join('\0'));
  return `# Rendered from ${CHART} by \`npm run manifests\`: change the chart, not this file.\n# sha256 of both: ${digest}\n`;
}

/** The text of a file of the project. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
