import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { type BuiltImage, runDockerfile } from './run-dockerfile.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NOBODY = 65_534;

/** Read-only files do not stop root, so the process then runs as nobody, as the image runs it as `node`. */
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY } : {};

let folder: string;
let image: BuiltImage;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toncache-image-'));
  chmodSync(folder, 0o755);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
  const env = { ...Object.fromEntries(inherited), PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  image = runDockerfile(ROOT, folder, env);
  spawnSync('chmod', ['-R', 'a-w,a+rX', folder]);
}, 900_000);

afterAll(() => {
  spawnSync('chmod', ['-R', 'u+w', folder]);
  rmSync(folder, { recursive: true, force: true });
}, 900_000);

const saidBy = (name: string) => image.said.get(name) ?? '';

/** The arguments of `node` in a command of the image, from the given instructions. */
function nodeArguments(...names: readonly string[]): string[] {
  const words: string[] = names.flatMap((name) => JSON.parse(/\[.*\]/.exec(saidBy(name))?.[0] ?? '[]'));
  const [node, ...args] = words;
  expect(node).toBe('node');
  return args;
}

describe('the image of the Dockerfile', () => {
  it('can also be built without BuildKit, when BUILDPLATFORM is not set', () => {
    const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    const platforms = [...dockerfile.matchAll(/--platform=\$(\w+)/g)].map(([, name = '']) => name);
    expect(platforms).toEqual(['BUILDER']);
    expect(dockerfile.split('\nFROM ')[0]).toMatch(/^ARG BUILDER=\$\{BUILDPLATFORM:-linux\}$/m);
  });

  it('contains no sources, tests, demo or development dependencies, and only the spellings of the simulator', () => {
    const files = readdirSync(image.directory, { recursive: true, encoding: 'utf8' });
    const own = files.filter((path) => !path.startsWith('node_modules'));
    expect(own.filter((path) => /^(src|test)|\.ts$|^dist\/(tools\/)?demo|\.tgz$/.test(path))).toEqual([]);
    expect(own.filter((path) => path.startsWith('dist/tools/simulator/'))).toEqual([
      'dist/tools/simulator/spellings.js',
    ]);
    const installed = readdirSync(join(image.directory, 'node_modules'));
    for (const name of ['typescript', 'vitest', 'node', 'knip', '@biomejs']) expect(installed).not.toContain(name);
    expect(readdirSync(join(image.directory, 'config'))).toContain('shared.json');
  });

  it('runs as an unprivileged user, listens on all interfaces, and has labels', () => {
    expect(saidBy('USER')).toBe('node');
    expect(saidBy('ENV').split('\n')).toContain('HOST=0.0.0.0 ADMIN_HOST=0.0.0.0');
    for (const label of [
      'title',
      'description',
      'licenses',
      'authors',
      'source',
      'url',
      'documentation',
      'version',
      'revision',
    ]) {
      expect(saidBy('LABEL')).toContain(`org.opencontainers.image.${label}=`);
    }
  });

  it('starts on a read-only file system, answers, is healthy on the configured admin port, and drains', async () => {
    const indexer = await startIndexer();
    const args = nodeArguments('ENTRYPOINT', 'CMD');
    const env = {
      HOST: '0.0.0.0',
      ADMIN_HOST: '0.0.0.0',
      UPSTREAM_URL: indexer.url,
      CONFIG_FILE: 'config/sidecar.json',
    };
    await using started = await ProxyProcess.start(env, undefined, { args, cwd: image.directory, ...asNobody });
    const port = new URL(started.url).port;
    const target = `/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno}`;
    expect((await fetch(`http://127.0.0.1:${port}${target}`)).status).toBe(200);
    const isHealthy = (at: string) =>
      spawnSync(process.execPath, nodeArguments('HEALTHCHECK'), {
        cwd: image.directory,
        env: { ...env, ADMIN_PORT: at },
        ...asNobody,
      }).status;
    const adminPort = new URL(started.adminUrl).port;
    expect(isHealthy(adminPort)).toBe(0);
    for (const page of ['the-indexer-fails', 'incidents.md', 'reference/fleet.md'])
      expect((await fetch(`http://127.0.0.1:${adminPort}/status/docs/${page}`)).status, page).toBe(200);
    // Nothing listens here. The public port answers /healthz as well.
    expect(isHealthy('1')).toBe(1);
    started.signal('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 0 });
    await indexer.close();
  });
});
