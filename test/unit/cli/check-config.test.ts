import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCommand } from '../../support/command-output.ts';

const UPSTREAM_URL = 'http://indexer:8081';

function aFile(settings: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'toncache-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'settings.json');
  writeFileSync(file, JSON.stringify(settings));
  return file;
}

async function check(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const { code, stdout } = await runCommand(['check-config', '--json', ...args], { env });
  return { code, ...JSON.parse(stdout) };
}

describe('toncache check-config', () => {
  it('shows the source of each setting: environment, file or default', async () => {
    const file = aFile({ memory: { maxSize: '64MiB' }, http: { port: 1 } });
    const { code, settings } = await check({ UPSTREAM_URL, CONFIG_FILE: file, PORT: '8081' }, '--all');
    expect(code).toBe(0);
    expect(settings).toEqual(
      expect.arrayContaining([
        { name: 'upstream.url', value: UPSTREAM_URL, from: 'environment', source: 'UPSTREAM_URL' },
        { name: 'http.port', value: '8081', from: 'environment', source: 'PORT' },
        { name: 'memory.maxSize', value: '64MiB', from: 'file', source: file },
        { name: 'upstream.timeout', value: '5s', from: 'default' },
        { name: 'redis.url', from: 'default' },
      ]),
    );
  });

  it.each([
    ['off', 'nothing'],
    ['on', 'all paths below /api/v3/, streams'],
    ['message,jetton/wallets', 'message, jetton/wallets, no streams'],
  ])('shows which paths are open with PASSTHROUGH=%s', async (PASSTHROUGH, shown) => {
    const env = { UPSTREAM_URL, PASSTHROUGH };
    expect(await check(env)).toMatchObject({ code: 0, passedThrough: shown });
    expect((await runCommand(['check-config'], { env })).stdout).toContain(`\npassed through: ${shown}\n`);
  });

  it('shows no secret', async () => {
    const env = {
      UPSTREAM_URL,
      UPSTREAM_API_KEY: 'secret1',
      ADMIN_TOKEN: 'secret2',
      REDIS_URL: 'redis://user:secret3@redis:6379/2',
    };
    for (const args of [[], ['--json'], ['--all']]) {
      const { stdout, stderr } = await runCommand(['check-config', ...args], { env });
      expect(stdout + stderr).not.toMatch(/secret\d/);
      expect(stdout).toContain('redis://redis:6379/2');
      expect(stdout).toContain('NETWORK is not set');
    }
  });

  it('shows no key in the path of a URL, wherever it is set', async () => {
    const key = 'key-of-16-letters';
    const urls = { UPSTREAM_URL: `http://a:1, https://b/${key}/ton`, STREAM_URL: `wss://c/x,${key}` };
    const file = aFile({ upstream: { backup: { url: `https://d/api/${key},https://e/${key}` } } });
    for (const args of [[], ['--json'], ['--all']]) {
      const { stdout, stderr } = await runCommand(['check-config', ...args], { env: { ...urls, CONFIG_FILE: file } });
      expect(stdout + stderr).not.toContain(key);
      expect(stdout).toContain('http://a:1,https://b/(secret)/ton');
      expect(stdout).toContain('https://d/api/(secret),https://e/(secret)');
      expect(stdout).toContain('wss://c/(secret)');
    }
  });

  it('reports all problems together and exits 78', async () => {
    const env = { PORT: 'eighty', CONFIG_FILE: aFile({ memory: { size: '1GiB' }, redis: { url: 'redis://x' } }) };
    const { code, stderr } = await runCommand(['check-config'], { env });
    expect(code).toBe(78);
    for (const name of ['PORT="eighty"', 'UPSTREAM_URL (upstream.url)', 'memory.size', 'redis.url']) {
      expect(stderr).toContain(`  ${name}: `);
    }
    expect(await check(env)).toMatchObject({ code: 78, problems: expect.arrayContaining([expect.any(String)]) });
  });

  it('warns about an unknown variable, and exits 0', async () => {
    const env = { UPSTREAM_URL, REDIS_PASSWORD: 'hunter2' };
    const { code, stdout } = await runCommand(['check-config'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^warning: REDIS_PASSWORD is not a setting/m);
    expect(stdout).not.toContain('hunter2');
    expect(await check(env, '--all')).toMatchObject({ code: 0, warnings: [expect.stringContaining('REDIS_PASSWORD')] });
  });

  it('lists only changed settings unless all are requested', async () => {
    const { stdout } = await runCommand(['check-config'], { env: { UPSTREAM_URL } });
    expect(stdout).toMatch(/^upstream\.url +http:\/\/indexer:8081 +environment UPSTREAM_URL$/m);
    expect(stdout).not.toContain('memory.maxSize');
    expect(stdout).toMatch(/^\d+ others have their defaults/m);
  });
});
