import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { arrivedAt, open, startPassThrough } from './pass-through-world.ts';
import { head, INFO, JSON_BODY, MESSAGE, MIB, statuses } from './raw-requests.ts';
import type { World } from './world.ts';

describe('bodies of requests that are passed through', () => {
  let world: World;
  beforeEach(async () => {
    world = await startPassThrough();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it.each([0, 1, 65_536, MIB])('are sent byte for byte: %d bytes', async (bytes) => {
    const body = randomBytes(bytes >> 1)
      .toString('hex')
      .padEnd(bytes, 'x');
    for (const framing of [{ 'Content-Length': String(bytes) }, { 'Transfer-Encoding': 'chunked' }]) {
      await world.ask(MESSAGE, { method: 'POST', headers: { ...JSON_BODY, ...framing }, body });
      const [asked] = arrivedAt(world).slice(-1);
      expect(asked).toMatchObject({ method: 'POST', target: MESSAGE, headers: { 'content-type': 'application/json' } });
      expect(asked?.headers['content-length']).toBe(String(bytes));
      expect(asked?.headers).not.toHaveProperty('transfer-encoding');
      expect(hash('sha256', asked?.body ?? '')).toBe(hash('sha256', body));
    }
    expect(arrivedAt(world)).toHaveLength(2);
  });

  const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
  it.each([
    ['by Content-Length', `Content-Length: ${MIB + 1}`, 'x'.repeat(MIB + 1)],
    ['in chunks', 'Transfer-Encoding: chunked', `${chunk.repeat(17)}0\r\n\r\n`],
  ])('are refused above 1 MiB %s: 413, and the connection is kept or closed', async (_, framing, body) => {
    const received = await world.proxy.exchange(
      `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n${body}${head(`GET ${INFO}`)}`,
    );
    expect(['413', '413,200']).toContain(statuses(received).join());
    // The simulated indexer has the same limit: this one is that of toncache.
    expect(received).toMatch(/detail=body-too-large/);
    expect(arrivedAt(world).map(({ method }) => method)).not.toContain('POST');
  });

  it('are refused before they are sent when Content-Length is too large', async () => {
    const socket = await open(
      world,
      [`POST ${MESSAGE} HTTP/1.1`, 'Host: x', `Content-Length: ${MIB + 1}`, '', ''].join('\r\n'),
    );
    const [chunk] = await once(socket, 'data');
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('that break off are not sent, and not logged as a bug', async () => {
    for (const framing of ['Content-Length: 100\r\n\r\nhalf', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n']) {
      const socket = await open(world, `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\n${framing}`);
      await world.proxy.untilTakenIn();
      socket.resetAndDestroy();
      await once(socket, 'close');
      await world.proxy.untilTakenIn();
    }
    expect(arrivedAt(world)).toEqual([]);
    expect(world.proxy.log.filter(({ level }) => level >= 50)).toEqual([]);
  });

  it('are sent only once they are complete', async () => {
    const socket = await open(
      world,
      `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 14\r\n\r\n{"boc":`,
    );
    await world.proxy.untilTakenIn();
    expect(arrivedAt(world)).toEqual([]);
    socket.write('"AAAA"}');
    expect(statuses((await buffer(socket)).toString())).toEqual(['200']);
    expect(arrivedAt(world)).toMatchObject([{ body: Buffer.from('{"boc":"AAAA"}') }]);
  });

  it('of GET and HEAD are not sent, and bytes that follow on the connection are the next request', async () => {
    for (const method of ['GET', 'HEAD']) {
      const smuggled = head(`GET ${MESSAGE}?smuggled`);
      const received = await world.proxy.exchange(
        `${method} ${INFO} HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}${head(`GET ${INFO}`)}`,
      );
      expect(statuses(received)).toEqual(['200', '200']);
    }
    expect(arrivedAt(world).map(({ target }) => target)).toEqual([INFO, INFO, INFO, INFO]);
    for (const { body, headers } of arrivedAt(world)) {
      expect(body).toHaveLength(0);
      expect(headers).not.toHaveProperty('content-length');
    }
  });
});

describe('bodies of clients', () => {
  const unfinished = (bytes: number, headers = `Content-Length: ${bytes}`) =>
    `POST ${MESSAGE} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`;

  /** Two bodies of 1 MiB, each without its last byte. */
  const stall = async (world: World) => {
    const most = 'x'.repeat(MIB - 1);
    const stalled = [
      await open(world, unfinished(MIB) + most),
      await open(world, `${unfinished(0, 'Transfer-Encoding: chunked')}${MIB.toString(16)}\r\n${most}`),
    ];
    await expect.poll(async () => (await world.ask(MESSAGE, { method: 'POST', body: '{}' })).status).toBe(503);
    return stalled;
  };

  it('do not block others by their announced length', async () => {
    await using world = await startPassThrough();
    const stalled = await Promise.all(Array.from({ length: 70 }, () => open(world, `${unfinished(MIB)}{`)));
    await world.proxy.untilTakenIn();
    expect((await world.ask(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' })).status).toBe(200);
    for (const socket of stalled) socket.destroy();
  });

  it('give way when there is no room, if they have stalled for 2 s', async () => {
    await using world = await startPassThrough({
      overrides: { passThrough: { maxBodySize: MIB, maxBufferedSize: 2 * MIB } },
    });
    const stalled = await stall(world);
    world.advance(2000);
    expect((await world.ask(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' })).status).toBe(200);
    // One of them was enough; the other one is answered when it is complete.
    const [byLength, inChunks] = stalled.map((socket) => once(socket, 'data').then(String));
    stalled[0]?.write('x');
    stalled[1]?.write('x\r\n0\r\n\r\n');
    expect([statuses((await byLength) ?? '')[0], statuses((await inChunks) ?? '')[0]].sort()).toEqual(['200', '503']);
    for (const socket of stalled) socket.destroy();
  });

  it('take a bounded amount of memory: a body beyond that is refused, and requests without one are served', async () => {
    await using world = await startPassThrough({
      overrides: { passThrough: { maxBodySize: MIB, maxBufferedSize: 2 * MIB } },
    });
    const stalled = await stall(world);
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
    });
    expect((await world.ask(INFO)).status).toBe(200);
    for (const socket of stalled) socket.destroy();
    await expect
      .poll(async () => (await world.ask(MESSAGE, { method: 'POST', body: '{"boc":"AA"}' })).status)
      .toBe(200);
  });

  it('must arrive within the deadline of a whole request', async () => {
    await using world = await startPassThrough({ overrides: { http: { requestTimeout: 200 } } });
    const socket = await open(world, unfinished(10));
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 408 /);
    expect(arrivedAt(world)).toHaveLength(0);
  });
});
