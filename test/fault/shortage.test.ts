import { Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startPassThrough } from '../e2e/pass-through-world.ts';
import { parentOfSettled, targetOf, unknownTransaction } from '../e2e/questions.ts';
import { expectFailure, startFaultyWorld } from './faulty-world.ts';
import { Replicas } from './replicas.ts';

/** Enough failures to open the circuit breaker of an operation. */
const MANY = 60;

/** No connection can be opened to these ports: the system reports this error instead. */
let short: Map<number, string>;

beforeEach(() => {
  short = new Map();
  const { connect } = Socket.prototype;
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const { host, port } = [args[0]].flat()[0] as { host?: string; port: number };
    const code = short.get(Number(port));
    if (code === undefined) return Reflect.apply(connect, this, args) as Socket;
    process.nextTick(() => this.destroy(Object.assign(new Error(`connect ${code} ${host}:${port}`), { code })));
    return this;
  });
});

afterEach(() => void vi.restoreAllMocks());

describe.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'])('a machine with the error %s', (code) => {
  it('refuses misses, opens no circuit breaker, and uses the indexer as soon as connections can be opened', async () => {
    // In a container, whose memory is then compared with its limit. This process also runs other tests, and uses more.
    vi.spyOn(process, 'constrainedMemory').mockReturnValue(2 ** 29);
    const rss = vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(2 ** 27);
    await using world = await startFaultyWorld();
    short.set(world.indexer.port, code);
    for (let time = 0; time < MANY; time++) {
      const reply = await world.ask(unknownTransaction());
      expectFailure(reply, 503);
      expect(reply.cache).toEqual({ detail: 'overloaded' });
      expect(reply.headers['retry-after']).toBe('1');
      expect(reply.text).toContain('it can open no more connections');
      // From the second request on, the memory cannot be read either.
      rss.mockImplementation(() => {
        throw Object.assign(new Error(`${code}: uv_resident_set_memory`), { code });
      });
    }
    expect(await world.proxy.metric('loadsRefused', { reason: 'sockets' })).toBe(MANY);
    expect(await world.proxy.metric('breakersOpen')).toBe(0);
    expect(await world.proxy.metric('upstreamRequests')).toBe(0);
    const { conditions } = JSON.parse((await world.proxy.askAdmin('/status.json')).text);
    for (const { says } of conditions) expect(says).not.toContain('indexer');
    const told = world.proxy.log.filter(({ level }) => level > 30).map(({ msg }) => msg);
    expect(told.length).toBeGreaterThan(0);
    for (const msg of told)
      expect(msg).toMatch(
        /^(DEGRADED|FAILING): (100 % of requests fail\. )?[Tt]his process can open no more connections \(\w+\)\.$/,
      );
    short.clear();
    expect((await world.ask(unknownTransaction())).status).toBe(404);
  });
});

it('serves a stale copy if no connection can be opened', async () => {
  await using world = await startFaultyWorld();
  const target = parentOfSettled(world);
  const { text } = await world.ask(target);
  // The fault ends the open connections, so a new one is needed.
  world.indexer.faults.inject({ kind: 'close-used' }, { times: 10 });
  short.set(world.indexer.port, 'EMFILE');
  let seqno = 99_000_000;
  const future = () => world.ask(targetOf('masterchainBlockShards', { seqno: seqno++ }));
  await expect.poll(async () => (await future()).cache['detail']).toBe('overloaded');
  await world.leap(2 * 3_600_000);
  const reply = await world.ask(target);
  expect([reply.status, reply.text === text]).toEqual([200, true]);
  // The answer is older than `staleWhileRevalidate`, so a load was tried.
  expect(reply.cache).toEqual({ hit: true, ttl: -3600, detail: 'memory' });
});

it('refuses passed-through requests if no connection can be opened, and opens no circuit breaker', async () => {
  await using world = await startPassThrough();
  short.set(world.indexer.port, 'EMFILE');
  for (let time = 0; time < MANY; time++) {
    const { status, text } = await world.proxy.ask(`/api/v3/blocks?limit=${time}`);
    expect([status, text]).toEqual([503, expect.stringContaining('it can open no more connections')]);
  }
  expect(await world.proxy.metric('loadsRefused', { operation: 'passthrough', reason: 'sockets' })).toBe(MANY);
  short.clear();
  expect((await world.proxy.ask('/api/v3/blocks?limit=1')).status).toBe(200);
});

it('uses another indexer if no connection to the first one can be opened, and the first one stays healthy', async () => {
  await using replicas = await Replicas.start({});
  const [first = 0] = replicas.ports;
  for (const each of replicas.indexers) each.faults.inject({ kind: 'close-used' }, { times: 1 });
  await replicas.askAtOnce(4);
  short.set(first, 'EADDRNOTAVAIL');
  const answers = await replicas.askAtOnce(30);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await replicas.metricOf(0, 'unhealthy')).toBe(0);
  expect(await replicas.proxy.metric('breakersOpen')).toBe(0);
});

it('keeps serving if the system cannot accept a connection, and logs the error', async () => {
  const listens = vi.spyOn(Server.prototype, 'listen');
  await using world = await startFaultyWorld();
  const servers = listens.mock.contexts as Server[];
  const error = Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS' });
  for (const server of servers.slice(-2)) server.emit('error', error);
  expect((await world.ask(unknownTransaction())).status).toBe(404);
  expect((await world.proxy.askAdmin('/healthz')).status).toBe(200);
  const told = () => world.proxy.log.map(({ msg }) => msg);
  await expect.poll(told).toContain('DEGRADED: this process can open no more connections (ENOBUFS).');
});
