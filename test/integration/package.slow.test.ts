import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { answeringJson } from '../support/json-upstream.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Node 24 as `node`, without the environment of npm scripts, which names the project's own folders. */
const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
const env = { ...Object.fromEntries(inherited), PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };

let folder: string;
let files: string[];

/** Packs the project, and installs the tarball into an empty folder as a user would. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toncache-package-'));
  const run = (args: string[], cwd: string) => execFileSync('npm', args, { cwd, env, encoding: 'utf8' });
  run(['pack', '--pack-destination', folder], ROOT);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  files = execFileSync('tar', ['-tzf', join(folder, tarball)], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));
  run(['init', '--yes'], folder);
  run(['install', '--no-audit', '--no-fund', `./${tarball}`], folder);
}, 600_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }), 600_000);

function npx(args: readonly string[], more: Readonly<Record<string, string>> = {}): SpawnSyncReturns<string> {
  return spawnSync('npx', ['--no-install', 'toncache', ...args], {
    cwd: folder,
    env: { ...env, ...more },
    encoding: 'utf8',
  });
}

function startInstalled(upstreamUrl: string, more: Readonly<Record<string, string>> = {}): Promise<ProxyProcess> {
  const args = [join(folder, 'node_modules/.bin/toncache'), 'start'];
  return ProxyProcess.start({ UPSTREAM_URL: upstreamUrl, ...more }, undefined, { args, cwd: folder });
}

describe('the npm package', () => {
  it('holds the program with its documents and configuration, and no sources, tests, demo or simulator', () => {
    const others = files.filter(
      (path) => !/^(dist\/(.*\.c?js|operate\/status\/page\/[\w.]+)$|docs\/|config\/)/.test(path),
    );
    expect(others.toSorted()).toEqual([
      ...['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'],
    ]);
    expect(files).toContain('dist/operate/status/page/index.html');
    // `toncache verify` compares the parser with the encoder of spellings.
    const notNeeded = files.filter((path) => /^dist\/.*(test|demo|simulator)/.test(path));
    expect(notNeeded.toSorted()).toEqual([
      ...['dist/cli/demo.js', 'dist/cli/simulator.js', 'dist/tools/simulator/spellings.js'],
    ]);
  });

  it("holds the targets of its README's links", () => {
    const readme = readFileSync(join(folder, 'node_modules/toncache/README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((path) => !files.includes(path))).toEqual([]);
  });

  it('installs its dependencies, without development dependencies', () => {
    const installed = readdirSync(join(folder, 'node_modules'));
    expect(installed).toEqual(expect.arrayContaining(['toncache', 'ioredis', 'undici', 'pino', 'zod']));
    for (const name of ['node', 'typescript', 'vitest', 'autocannon']) expect(installed).not.toContain(name);
  });

  it('has at most 21 MB of files with its dependencies', () => {
    const all = readdirSync(join(folder, 'node_modules'), { recursive: true, withFileTypes: true });
    const files = all.filter((it) => it.isFile()).map((it) => statSync(join(it.parentPath, it.name)));
    expect(files.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(21_000_000);
  });

  it('has a command that lists its commands', () => {
    const { status, stdout } = npx(['--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {2}start +run toncache$/m);
  });

  it('checks settings', () => {
    expect(npx(['check-config'], { UPSTREAM_URL: 'http://indexer:8081' }).status).toBe(0);
  });

  it('reports that the demo needs a checkout', () => {
    const { status, stderr } = npx(['demo']);
    expect(status).toBe(69);
    expect(stderr).toMatch(/^demo is not part of the installed package: run "npm ci && npm run demo" in a checkout/m);
  });

  it('refuses an older Node in one line', () => {
    const pretence = join(folder, 'old.cjs');
    writeFileSync(
      pretence,
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } });",
    );
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--require', pretence, join(folder, 'node_modules/.bin/toncache'), 'start'],
      { encoding: 'utf8' },
    );
    expect(status).toBe(78);
    expect(stderr).toMatch(/^toncache needs Node 24 or newer and this is v\d+.*\n$/);
  });

  it('has as many threads for look-ups of names as `npm start`', async () => {
    await using started = await startInstalled('http://indexer.invalid');
    await expect.poll(() => started.workerThreads()).toBe(16);
  });

  it('starts, answers from the cache, and drains', async () => {
    const indexer = await startIndexer();
    await using started = await startInstalled(indexer.url);
    // Not the newest one: the head check requests that at the start.
    const target = `/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno - 5}`;
    const statuses = [];
    for (let time = 0; time < 2; time++) statuses.push((await fetch(started.url + target)).headers.get('cache-status'));
    expect(statuses[0]).toMatch(/fwd=miss; fwd-status=200; stored$/);
    expect(statuses[1]).toMatch(/hit; ttl=\d+; detail=memory$/);
    expect(indexer.requests.recent.filter((request) => request.target === target)).toHaveLength(1);
    for (const page of ['the-indexer-fails', 'incidents.md', 'reference/fleet.md'])
      expect((await fetch(`${started.adminUrl}/status/docs/${page}`)).status, page).toBe(200);
    started.signal('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 0 });
    await indexer.close();
  });

  it('reads large bodies in its worker thread', async () => {
    const block = { workchain: -1, seqno: 7, padding: 'x'.repeat(1_200_000) };
    await using upstream = await startScriptedUpstream(
      answeringJson(() => ({ status: 200, body: { blocks: [block] } })),
    );
    await using started = await startInstalled(upstream.url);
    const answer = await fetch(`${started.url}/api/v3/masterchainBlockShards?seqno=7`);
    expect(answer.headers.get('cache-status')).toBe('toncache; fwd=miss; fwd-status=200; stored');
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(1024 * 1024);
  });
});
