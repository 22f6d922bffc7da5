import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { Demo, RIGHT } from './demo-process.ts';

afterEach(() => Demo.killAll());

/** The arguments as the shell hands them to curl: not every machine has one. */
function curlArguments(line: string): string[] {
  const shell = `curl() { printf '%s\\n' "$@"; }\n${line}`;
  return execFileSync('/bin/sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n');
}

describe('npm run demo', () => {
  it('prints curl lines that work in a shell, and are hits except for live answers', async () => {
    const demo = new Demo({});
    await demo.untilCrowd();
    const proxyUrl = (await demo.untilSaid(/proxy +(http\S+)/))[1] ?? '';
    const lines = [...demo.said.matchAll(/^ *(curl .*)$/gm)].map(([, line = '']) => line);
    expect(new Set(lines).size).toBe(9);
    const bodies = new Map<string, Set<string>>();
    for (const line of lines) {
      const [option, url = '', ...rest] = curlArguments(line);
      expect([option, ...rest]).toEqual(['-I']);
      expect(line).toBe(`curl -I '${url}'`);
      expect(url.startsWith(`${proxyUrl}/api/v3/`)).toBe(true);
      const head = await fetch(url, { method: 'HEAD' });
      expect(head.status, url).toBe(200);
      const whole = await fetch(url);
      expect(whole.status, url).toBe(200);
      const operation = new URL(url).pathname;
      if (!operation.endsWith('pendingTraces')) expect(whole.headers.get('cache-status')).toMatch(/^toncache; hit/);
      bodies.set(operation, (bodies.get(operation) ?? new Set()).add(await whole.text()));
    }
    expect(bodies.get('/api/v3/adjacentTransactions')?.size).toBe(1);
    expect(bodies.get('/api/v3/masterchainBlockShards')?.size).toBe(1);
  });

  it('exits 1 and shows each wrong answer', async () => {
    const faults = new URL('../../src/tools/simulator/faults.ts', import.meta.url);
    // The indexer gives a wrong answer for every masterchain block.
    const lie = `import { Faults } from '${faults}';
      const body = '{"blocks":[{"workchain":-1,"seqno":1}]}';
      Faults.prototype.take = (operation) =>
        operation === 'masterchainBlockShards' ? { kind: 'answer', status: 200, body } : undefined;`;
    const preload = `data:text/javascript,${encodeURIComponent(lie)}`;
    const demo = new Demo({ nodeArgs: ['--import', preload] });
    await demo.untilSaid(/^ {2}WRONG ANSWER to the demo itself$/m);
    await demo.untilCrowd();
    demo.child.kill('SIGINT');
    expect(await demo.exitCode).toBe(1);
    expect(demo.said).toMatch(/asked .*http:\/\/127\.0\.0\.1:\d+\/api\/v3\/masterchainBlockShards\?/);
    expect(demo.said).toMatch(/answered .* 200 \{"blocks":\[\{"workchain":-1,"seqno":1\}\]\}/);
    expect(demo.said).toMatch(/wrong .*the chain never says this; blocks\.0\./);
    expect(demo.said).toMatch(/^ {2}\d+ answers were wrong\.$/m);
    expect(demo.said).not.toContain(RIGHT);
  });

  it('takes free ports when its own is in use', async () => {
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    onTestFinished(() => void squatter.close());
    const { port } = squatter.address() as AddressInfo;
    const demo = new Demo({ args: ['--for', '100ms'], env: { PORT: String(port), ADMIN_PORT: String(port) } });
    expect(await demo.exitCode).toBe(0);
    const [, chosen] = await demo.untilSaid(/proxy +http:\/\/127\.0\.0\.1:(\d+), as port \d+ or \d+ is in use$/m);
    const [, admin] = await demo.untilSaid(/metrics +http:\/\/127\.0\.0\.1:(\d+)\/metrics$/m);
    expect(new Set([String(port), chosen, admin]).size).toBe(3);
  });

  it('shuts down cleanly on SIGINT, SIGTERM and SIGHUP, sent more than once as npm does', async () => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const ended = signals.map(async (signal) => {
      const demo = new Demo({});
      await demo.untilCrowd();
      demo.child.kill(signal);
      // One after the other, because two signals at the same time arrive as one.
      for (let times = 0; times < 10; times++) {
        await setImmediate();
        demo.child.kill(signal);
      }
      expect(await demo.exitCode, signal).toBe(0);
      expect(demo.said).toMatch(/^Ended by /m);
      expect(demo.said).toContain(RIGHT);
    });
    await Promise.all(ended);
  });

  it('shuts down cleanly while it starts', async () => {
    const demo = new Demo({});
    await demo.untilSaid(/toncache demo/);
    demo.child.kill('SIGINT');
    expect(await demo.exitCode).toBe(0);
  });
});
