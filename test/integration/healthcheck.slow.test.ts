import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../src/http/listen.ts';
import { compiledCode } from '../support/compile-cache.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const UPSTREAM_URL = 'http://127.0.0.1:1';
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'toncache-health-'));
});

afterAll(() => rm(dir, { recursive: true }));

/** Runs the command of the Dockerfile's HEALTHCHECK and returns its exit code. */
async function check(environment: Readonly<Record<string, string>>): Promise<number> {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const [, ...built] = JSON.parse(/^HEALTHCHECK(?:.|\\\n)*CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
  const command = built.map((part) => part.replace(/^dist\/(.*)\.js$/, 'src/$1.ts'));
  return new Promise((resolve) => {
    const env = { UPSTREAM_URL, ...compiledCode(), ...environment };
    const child = execFile(process.execPath, command, { cwd: ROOT, env }, () => resolve(child.exitCode ?? -1));
  });
}

/** An admin port that answers `/healthz` with this status. */
async function adminPort(host: string, status: number): Promise<{ port: string; close: () => void }> {
  const server = createServer(({ url }, response) => response.writeHead(url === '/healthz' ? status : 500).end());
  const { port } = new URL(await listen(server, host, 0));
  return { port, close: () => void server.close() };
}

describe('the health check of the image', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['::', '::1'],
    ['::1', '::1'],
    ['localhost', 'localhost'],
  ])('finds the admin port that listens on %s, from the environment or the file', async (host, listensOn) => {
    const { port, close } = await adminPort(listensOn, 200);
    const file = join(dir, `${port}.json`);
    await writeFile(file, JSON.stringify({ http: { adminHost: host, adminPort: Number(port) } }));
    expect(await check({ ADMIN_HOST: host, ADMIN_PORT: port })).toBe(0);
    expect(await check({ CONFIG_FILE: file })).toBe(0);
    expect(await check({ CONFIG_FILE: file, ADMIN_PORT: '1' })).toBe(1);
    close();
  });

  it('fails when the process is unhealthy or missing, or its settings are invalid', async () => {
    const { port, close } = await adminPort('127.0.0.1', 503);
    expect(await check({ ADMIN_PORT: port })).toBe(1);
    close();
    expect(await check({ ADMIN_PORT: port })).toBe(1);
    expect(await check({ ADMIN_PORT: 'x' })).toBe(1);
  });
});
