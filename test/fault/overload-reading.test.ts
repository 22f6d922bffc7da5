import { describe, expect, it } from 'vitest';
import { nothingPending, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { PATIENT_ADMISSION } from './faulty-world.ts';
import { expectRefused, NEVER, times } from './refused-requests.ts';

describe('bytes of answers being read', () => {
  const MIB = 1024 * 1024;
  const EMPTY = '{"traces":[]}';
  const KEPT = nothingPending();
  const answer = (text: string) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`;
  const whole = `${answer(EMPTY)}\r\n\r\n${EMPTY}`;

  /**
   * An indexer that answers pendingTraces, and whose other answers the test writes; a proxy that reads at most 1 MiB at
   * a time.
   */
  async function startReading(maxConcurrency: number, maxQueue: number) {
    const sockets: Parameters<Parameters<typeof startScriptedUpstream>[0]>[0][] = [];
    const upstream: ScriptedUpstream = await startScriptedUpstream((socket, head) => {
      if (head.includes('pendingTraces')) socket.write(whole);
      else sockets.push(socket);
    });
    const proxy = await startProxy({
      upstreamUrl: upstream.url,
      env: NEVER.env,
      overrides: {
        admission: { ...PATIENT_ADMISSION, maxQueue },
        rows: { empty: times(600_000, 0, 0) },
        upstream: { maxBufferedSize: MIB, maxConcurrency },
        http: { drainTimeout: 100 },
      },
    });
    const body = `{"traces":[],"padding":"${'x'.repeat(4 * MIB)}"}`;
    return {
      proxy,
      upstream,
      sockets,
      /** All but the end of an answer. */
      writeMost: () => sockets[0]?.write(`${answer(body)}\r\n\r\n${body.slice(0, -1)}`),
      writeTail: () => sockets[0]?.write('}'),
      [Symbol.asyncDispose]: async () => {
        await proxy.close();
        await upstream[Symbol.asyncDispose]();
      },
    };
  }

  const exhausted = (proxy: { metric: World['proxy']['metric'] }) => proxy.metric('loadsRefused', { reason: 'memory' });

  it('above the limit refuse misses, but no hits, until an answer has been read completely', async () => {
    await using reading = await startReading(10, 0);
    const { proxy, upstream } = reading;
    expect((await proxy.ask(KEPT)).status).toBe(200);
    const large = await proxy.sendIn(unknownTransaction());
    await expect.poll(() => reading.sockets.length).toBe(1);
    reading.writeMost();
    await expect.poll(async () => (await proxy.ask(nothingPending())).status, { interval: 5 }).toBe(503);
    const sent = upstream.asked.length;
    expectRefused(await proxy.ask(nothingPending()));
    expect((await proxy.ask(KEPT)).headers['cache-status']).toContain('hit');
    expect(upstream.asked).toHaveLength(sent);
    expect(await exhausted(proxy)).toBe(2);
    reading.writeTail();
    await large.answer;
    expect((await proxy.ask(nothingPending())).status).toBe(200);
  });

  it('above the limit also refuse a request that waited for a slot', async () => {
    await using reading = await startReading(2, 1);
    const { proxy, upstream } = reading;
    const holding = [await proxy.sendIn(unknownTransaction()), await proxy.sendIn(unknownTransaction())];
    await expect.poll(() => reading.sockets.length).toBe(2);
    const waiting = await proxy.sendIn(nothingPending());
    await proxy.untilQueued(1);
    reading.writeMost();
    await expect
      .poll(
        async () => {
          await proxy.ask(nothingPending());
          return exhausted(proxy);
        },
        { interval: 5 },
      )
      .toBeGreaterThan(0);
    reading.sockets[1]?.write(whole);
    await holding[1]?.answer;
    const { status } = await waiting.answer;
    expect([status, upstream.asked.length]).toEqual([503, 2]);
  });
});
