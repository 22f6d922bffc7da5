import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RIGHT, startDemo, untilCrowd, untilSaid } from './demo-process.ts';

/** A port that is in use until the test ends. */
async function squat(): Promise<string> {
  const squatter = createServer().listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  onTestFinished(() => void squatter.close());
  return String((squatter.address() as AddressInfo).port);
}

describe('npm run demo', () => {
  it('exits 1 and shows each wrong answer', async () => {
    const faults = new URL('../../src/tools/simulator/faults.ts', import.meta.url);
    // The indexer gives a wrong answer for every masterchain block.
    const lie = `import { Faults } from '${faults}';
      const body = '{"blocks":[{"workchain":-1,"seqno":1}]}';
      Faults.prototype.take = (operation) =>
        operation === 'masterchainBlockShards' ? { kind: 'answer', status: 200, body } : undefined;`;
    const preload = `data:text/javascript,${encodeURIComponent(lie)}`;
    await using demo = startDemo({ nodeArgs: ['--import', preload] });
    await untilSaid(demo, /^ {2}WRONG ANSWER to the demo itself$/m);
    await untilCrowd(demo);
    demo.signal('SIGINT');
    expect((await demo.ended).code).toBe(1);
    expect(demo.output).toMatch(/asked .*http:\/\/127\.0\.0\.1:\d+\/api\/v3\/masterchainBlockShards\?/);
    expect(demo.output).toMatch(/answered .* 200 \{"blocks":\[\{"workchain":-1,"seqno":1\}\]\}/);
    expect(demo.output).toMatch(/wrong .*the chain never had this response; blocks\.0\./);
    expect(demo.output).toMatch(/^ {2}\d+ responses were wrong\.$/m);
    expect(demo.output).not.toContain(RIGHT);
  });

  it('uses free ports when its own ports are in use', async () => {
    const [port, adminPort] = [await squat(), await squat()];
    await using demo = startDemo({ args: ['--for', '100ms'], env: { PORT: port, ADMIN_PORT: adminPort } });
    expect((await demo.ended).code).toBe(0);
    const [, chosen] = await untilSaid(demo, /proxy +http:\/\/127\.0\.0\.1:(\d+), as port \d+ or \d+ is in use$/m);
    const [, admin] = await untilSaid(demo, /metrics +http:\/\/127\.0\.0\.1:(\d+)\/metrics$/m);
    expect(new Set([port, adminPort, chosen, admin]).size).toBe(4);
  });

  it('shuts down cleanly on SIGINT, SIGTERM and SIGHUP, sent more than once as npm does', async () => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const ended = signals.map(async (signal) => {
      await using demo = startDemo({});
      await untilCrowd(demo);
      demo.signal(signal);
      // One after the other, because two signals at the same time arrive as one.
      for (let times = 0; times < 10; times++) {
        await setImmediate();
        demo.signal(signal);
      }
      expect((await demo.ended).code, signal).toBe(0);
      expect(demo.output).toMatch(/^Ended by /m);
      expect(demo.output).toContain(RIGHT);
    });
    await Promise.all(ended);
  });
});
