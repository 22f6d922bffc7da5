import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectorBy } from '../../../src/names/connector.ts';
import { Names } from '../../../src/names/names.ts';
import { FakeResolver } from '../../support/fake-resolver.ts';

const HOST = 'indexer.test';
/** Nothing listens at the first, connections to the second are never accepted, and the server listens at the third. */
const [DEAD, HANGS, WELL] = ['127.0.0.2', '127.0.0.3', '127.0.0.1'];

let server: Server;
let port: number;
let resolver: FakeResolver;
let names: Names;

beforeEach(async () => {
  server = createServer((socket) => void socket.on('error', () => {}));
  await once(server.listen(0, WELL), 'listening');
  port = (server.address() as AddressInfo).port;
  resolver = new FakeResolver({ [HOST]: [WELL] });
  names = new Names(resolver.ask, () => performance.now());
});

afterEach(() => void server.close());

/** The address that a connection got. */
function connected(timeoutMs = 20_000): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const to = { hostname: HOST, host: `${HOST}:${port}`, protocol: 'http:', port: String(port) };
  connectorBy(names, timeoutMs)(to, (error, socket) => {
    if (error !== null) return reject(error);
    resolve(socket?.remoteAddress);
    socket?.destroy();
  });
  return promise;
}

/** A listener at {@link HANGS} that accepts nothing, and whose queue is full: further connections hang. */
async function startHanging(): Promise<AsyncDisposable> {
  const listening = `
    const { parentPort, workerData: { host, port } } = require('node:worker_threads');
    require('node:net').createServer().listen({ host, port, backlog: 1 }, () => {
      parentPort.postMessage('listening');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const worker = new Worker(listening, { eval: true, workerData: { host: HANGS, port } });
  await once(worker, 'message');
  const queued = [1, 2, 3].map(() => new Socket().on('error', () => {}).connect(port, HANGS));
  await Promise.all(queued.slice(0, 2).map((socket) => once(socket, 'connect')));
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}

describe('a connection to a name', () => {
  it('waits half of its timeout for an address that hangs, and is made to the next one', async () => {
    await using _ = await startHanging();
    resolver.say(HOST, [HANGS, WELL]);
    const startedAt = performance.now();
    expect(await connected(2000)).toBe(WELL);
    // Node's own timeout of an attempt would be 250 ms: too short for a host that is far away.
    expect(performance.now() - startedAt).toBeGreaterThan(900);
  });

  it('is made to the next address as soon as an address refuses it', async () => {
    resolver.say(HOST, [DEAD, WELL]);
    expect(await connected()).toBe(WELL);
    expect(resolver.asked).toHaveLength(1);
  });

  it('is made to the new address if the remembered one fails, with one look-up for 30 concurrent connections', async () => {
    resolver.say(HOST, [DEAD]);
    await names.find(HOST);
    resolver.say(HOST, [WELL]);
    expect(await Promise.all(Array.from({ length: 30 }, () => connected()))).toEqual(Array(30).fill(WELL));
    expect(resolver.asked).toHaveLength(2);
  });

  it('that fails for lack of a descriptor does not count as a failure of its address', async () => {
    const connect = vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
      void names.find(HOST).then(() => {
        this.emit('lookup', null, WELL, 4, HOST);
        this.destroy(Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' }));
      });
      return this;
    });
    for (let time = 0; time < 3; time++) await expect(connected()).rejects.toMatchObject({ code: 'EMFILE' });
    connect.mockRestore();
    expect(await connected()).toBe(WELL);
    expect(resolver.asked).toHaveLength(1);
  });

  it('fails if all addresses fail, and the resolver is asked once before the next one', async () => {
    resolver.say(HOST, [DEAD, '127.0.0.4']);
    await expect(connected()).rejects.toMatchObject({
      errors: [{ code: 'ECONNREFUSED', address: DEAD }, { code: 'ECONNREFUSED' }],
    });
    expect(resolver.asked).toHaveLength(2);
    resolver.say(HOST, 'EAI_AGAIN');
    await expect(connected()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    // The addresses that failed are not used, though the resolver fails.
    await expect(connected()).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    resolver.say(HOST, [WELL]);
    expect(await connected()).toBe(WELL);
  });

  it('fails after its timeout while the resolver hangs, and does not prevent the next one', async () => {
    resolver.say(HOST, 'silent');
    await expect(connected(30)).rejects.toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    resolver.say(HOST, [WELL]);
    expect(await connected()).toBe(WELL);
    expect(resolver.asked).toHaveLength(1);
  });

  it('fails after its timeout at an address that hangs, which is looked up again before the next one', async () => {
    await using _ = await startHanging();
    resolver.say(HOST, [HANGS]);
    await expect(connected(30)).rejects.toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    resolver.say(HOST, [WELL]);
    expect(await connected()).toBe(WELL);
  });
});
