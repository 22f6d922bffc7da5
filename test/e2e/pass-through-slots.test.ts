import { hash } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { send } from '../support/http-client.ts';
import { arrivedAt, open, startPassThrough } from './pass-through-world.ts';
import { newestBlock } from './questions.ts';
import { head, INFO, MESSAGE, MIB } from './raw-requests.ts';

describe('the slots of pass-through', () => {
  const LARGE = 16 * MIB;
  /** Clients wait without a limit, and the slot of an abandoned request stays taken. */
  const admission = { patience: 60_000 };
  const most = (maxConcurrency: number) => ({ admission, passThrough: { maxConcurrency } });

  it('are separate from the slots of the operations, and requests beyond the queue get 503 with Retry-After', async () => {
    await using world = await startPassThrough({ overrides: { ...most(2), admission: { ...admission, maxQueue: 2 } } });
    const gate = world.indexer.hold();
    const first = [await world.proxy.sendIn(INFO), await world.proxy.sendIn(INFO)];
    await gate.arrived(2);
    const queued = [
      await world.proxy.sendIn(INFO),
      await world.proxy.sendIn(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' }),
    ];
    await world.proxy.untilQueued(2);
    const refused = await world.ask(INFO);
    expect(refused).toMatchObject({ status: 503, headers: { 'cache-control': 'no-store' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    const operation = await world.proxy.sendIn(newestBlock(world));
    await gate.arrived(3);
    gate.release();
    const all = await Promise.all([...first, ...queued, operation].map(({ answer }) => answer));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(world.indexer.requests.maxInHand).toBe(3);
  });

  it('are not waited for when the process ends: a queued request gets 503 with the reason', async () => {
    await using world = await startPassThrough({ overrides: { ...most(1), http: { drainTimeout: 100 } } });
    const gate = world.indexer.hold();
    const first = await world.proxy.sendIn(INFO);
    await gate.arrived(1);
    const queued = await world.proxy.sendIn(INFO);
    await world.proxy.untilQueued(1);
    const closed = world.proxy[Symbol.asyncDispose]();
    const [, refused] = await Promise.all([first.answer, queued.answer]);
    const headers = { 'cache-status': 'toncache; detail=shutting-down', 'retry-after': '1' };
    expect(refused).toMatchObject({ status: 503, headers });
    await closed;
  });

  it('are not used up by clients that do not read their answers', async () => {
    await using world = await startPassThrough({ overrides: most(1) });
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 2 });
    const sockets = [await open(world, head(`GET ${INFO}`)), await open(world, head(`GET ${INFO}`))];
    for (const socket of sockets) await once(socket, 'readable');
    expect((await world.ask(INFO)).status).toBe(200);
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('do not count answers on their way to clients, which have a limit of their own', async () => {
    await using world = await startPassThrough({ overrides: { passThrough: { maxTransfers: 2 } } });
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 2 });
    const sockets = [await open(world, head(`GET ${INFO}`)), await open(world, head(`GET ${INFO}`))];
    for (const socket of sockets) await once(socket, 'readable');
    expect(await world.ask(INFO)).toMatchObject({ status: 503 });
    expect((await world.ask(newestBlock(world))).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await world.ask(INFO)).status).toBe(200);
  });

  it('are not used up by clients that send a body slowly', async () => {
    await using world = await startPassThrough({ overrides: most(1) });
    const socket = await open(
      world,
      `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{`,
    );
    expect((await world.ask(INFO)).status).toBe(200);
    socket.write('}');
    await buffer(socket);
    expect(arrivedAt(world)).toHaveLength(2);
    expect(await world.proxy.metric('upstreamInFlight')).toBe(0);
  });

  it('are returned when a client disconnects in the queue, or in the middle of an answer', async () => {
    await using world = await startPassThrough({ overrides: { passThrough: { maxConcurrency: 1 } } });
    const gate = world.indexer.hold();
    const first = await world.proxy.sendIn(INFO);
    await gate.arrived(1);
    const second = await world.proxy.sendIn(INFO);
    await world.proxy.untilQueued(1);
    second.leave();
    await world.proxy.untilQueued(0);
    gate.release();
    expect((await first.answer).status).toBe(200);
    world.indexer.faults.inject({ kind: 'huge', bytes: LARGE }, { times: 1 });
    const socket = await open(world, head(`GET ${INFO}`));
    await once(socket, 'readable');
    socket.destroy();
    expect((await world.ask(INFO)).status).toBe(200);
    await expect.poll(() => world.proxy.metric('upstreamInFlight')).toBe(0);
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
  });

  it('are returned when a client disconnects before the answer, and its request to the indexer ends', async () => {
    await using world = await startPassThrough();
    world.indexer.faults.inject({ kind: 'hang' }, { times: 1 });
    const sent = send(world.proxy.url, INFO);
    await world.indexer.requests.arrived(1);
    sent.leave();
    await expect.poll(() => world.indexer.requests.inHand).toBe(0);
    expect(world.proxy.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it.each(['content-length', 'chunked'] as const)(
    'leave the unread rest of large answers (%s) at the indexer, and slow clients get every byte',
    async (framing) => {
      await using world = await startPassThrough();
      world.indexer.faults.inject({ kind: 'huge', bytes: LARGE, framing });
      const truth = (await world.askIndexer(INFO)).bytes;
      const sending = await open(world, head(`GET ${INFO}`));
      sending.pause();
      await world.indexer.requests.arrived(2);
      for (let time = 0; time < 20; time++) await world.proxy.ask('/no/such/path');
      // The indexer still holds the bytes that the client has not read.
      expect(world.indexer.requests.inHand).toBe(1);
      const received = await buffer(sending);
      const reply = await world.ask(INFO);
      expect(received.length).toBeGreaterThan(LARGE);
      expect(reply.digest).toBe(hash('sha256', truth));
    },
  );
});
