import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { Demo, RIGHT } from './demo-process.ts';

afterEach(() => Demo.killAll());

describe('npm run demo', () => {
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
});
