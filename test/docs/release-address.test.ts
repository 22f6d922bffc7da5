import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
const REPOSITORY = 'https://github.test/Some/Toncache';
const IMAGE = 'ghcr.io/some/toncache';

let folder: string;
const released = (path: string) => readFileSync(join(folder, path), 'utf8');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toncache-release-'));
  for (const path of ['.github', 'config', 'Dockerfile', 'package.json']) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  const env = {
    ...process.env,
    GITHUB_SERVER_URL: 'https://github.test',
    GITHUB_REPOSITORY: 'Some/Toncache',
    GITHUB_REF_NAME: 'v1.2.3',
  };
  execFileSync('bash', ['.github/own-address.sh'], { cwd: folder, env });
});
afterAll(() => rmSync(folder, { recursive: true }));

it('the package, the image and the chart of a release name its repository', () => {
  expect(JSON.parse(released('package.json'))).toMatchObject({
    homepage: `${REPOSITORY}#readme`,
    repository: { type: 'git', url: `git+${REPOSITORY}.git` },
    bugs: { url: `${REPOSITORY}/issues` },
  });
  expect(released('Dockerfile')).toContain(`\nARG SOURCE=${REPOSITORY}\n`);
  expect(released('config/deploy/helm/Chart.yaml')).toMatch(new RegExp(`^home: ${REPOSITORY}$`, 'm'));
});

it('the chart, the manifests and the override of a release name its image', () => {
  expect(released('config/deploy/helm/values.yaml')).toContain(`\n  repository: ${IMAGE}\n`);
  for (const shape of ['shared', 'sidecar']) {
    const images = released(`config/deploy/kubernetes/${shape}.yaml`).match(/(?<=image: ).*toncache.*/g) ?? [];
    expect([...new Set(images)]).toEqual([`${IMAGE}:${VERSION}`]);
  }
  expect(released('config/deploy/toncenter.override.yaml')).toContain(`\${TONCACHE_IMAGE:-${IMAGE}:${VERSION}}`);
});

it('each alert of a release links to the section that names it', () => {
  const rules = released('config/prometheus/alerts.yml').split('- alert: ').slice(1);
  const page = readFileSync(join(ROOT, 'docs/incidents.md'), 'utf8');
  for (const rule of rules) {
    const [alert = ''] = rule.match(/^\w+/) ?? [];
    const [link = ''] = rule.match(/(?<=^ {10}runbook_url: ).*/m) ?? [];
    const [address, anchor = ''] = link.split('#');
    expect(address, alert).toBe(`${REPOSITORY}/blob/v1.2.3/docs/incidents.md`);
    const section = page.split(/\n(?=##)/).find((each) => anchorOf(each) === anchor) ?? '';
    expect(section, alert).toContain(alert);
  }
  expect(rules.length).toBeGreaterThan(10);
});

/** The anchor of the heading that a section begins with. */
function anchorOf(section: string): string {
  const [heading = ''] = section.split('\n');
  return heading.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-');
}

it('a checkout contains no placeholder address that a release would have to replace', () => {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  const placeholder = new RegExp(['toncache', 'registry'].map((name) => `${name}[.]example`).join('|'));
  const texts = files.filter((path) => !/\.(png|svg)$/.test(path));
  expect(texts.filter((path) => placeholder.test(readFileSync(join(ROOT, path), 'utf8')))).toEqual([]);
});
