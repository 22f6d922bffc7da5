import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectByName } from '../../../src/names/connect.ts';
import { Names } from '../../../src/names/names.ts';
import { FakeResolver } from '../../support/fake-resolver.ts';

const HOST = 'indexer.test';
/**
 * Nothing listens at the first, attempts to the second hang until `letThrough`, and the server listens at the third.
 */
const [DEAD, HANGS, WELL] = ['127.0.0.2', '127.0.0.3', '127.0.0.1'];
/** Attempts to this address fail for lack of a descriptor. */
const LACKS = '127.0.0.5';

let server: Server;
let port: number;
let resolver: FakeResolver;
let names: Names;
/** The addresses of all attempts, in order. */
let attempts: string[];
/** Lets the attempts to {@link HANGS} reach the server. */
let letThrough: () => void;

beforeEach(async () => {
  server = createServer((socket) => void socket.on('error', () => {}));
  await once(server.listen(0, WELL), 'listening');
  port = (server.address() as AddressInfo).port;
  resolver = new FakeResolver({ [HOST]: [WELL] });
  names = new Names({ askResolver: resolver.ask, now: () => performance.now() });
  attempts = [];
  const through = Promise.withResolvers<void>();
  letThrough = through.resolve;
  const { connect } = Socket.prototype;
  vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: unknown[]) {
    const options = [args[0]].flat()[0] as { host: string };
    attempts.push(options.host);
    if (options.host === LACKS) return this.destroy(Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' }));
    if (options.host !== HANGS) return Reflect.apply(connect, this, args) as Socket;
    void through.promise.then(() => {
      if (!this.destroyed) Reflect.apply(connect, this, [{ host: WELL, port }]);
    });
    return this;
  });
});

afterEach(() => void server.close());

async function connected(timeoutMs = 20_000): Promise<string> {
  const { socket, address } = await connectByName(names, { host: HOST, port, timeoutMs });
  names.worked(HOST, address);
  socket.destroy();
  return address;
}

describe('a connection to a name', () => {
  it('that takes longer than 250 ms still succeeds after another address was tried and failed', async () => {
    resolver.say(HOST, [HANGS, DEAD]);
    const connecting = connected();
    await expect.poll(() => attempts).toEqual([HANGS, DEAD]);
    letThrough();
    expect(await connecting).toBe(HANGS);
  });

  it('waits once for an address that hangs, and tries the working address first from then on', async () => {
    resolver.say(HOST, [HANGS, WELL]);
    for (let time = 0; time < 3; time++) expect(await connected()).toBe(WELL);
    expect(attempts).toEqual([HANGS, WELL, WELL, WELL]);
  });

  it('is made to the next address as soon as an address refuses it', async () => {
    resolver.say(HOST, [DEAD, WELL]);
    expect(await connected()).toBe(WELL);
    expect(attempts).toEqual([DEAD, WELL]);
  });

  it('is made to the new address if the remembered one fails, with one look-up for 30 concurrent connections', async () => {
    resolver.say(HOST, [DEAD]);
    await names.find(HOST);
    resolver.say(HOST, [WELL]);
    expect(await Promise.all(Array.from({ length: 30 }, () => connected()))).toEqual(Array(30).fill(WELL));
    expect(resolver.asked).toHaveLength(2);
  });

  it('that fails for lack of a descriptor does not count as a failure of its address', async () => {
    resolver.say(HOST, [LACKS]);
    for (let time = 0; time < 3; time++) await expect(connected()).rejects.toMatchObject({ code: 'EMFILE' });
    expect(resolver.asked).toHaveLength(1);
  });

  it('fails if all addresses fail, after at most one look-up', async () => {
    resolver.say(HOST, [DEAD, '127.0.0.4']);
    await expect(connected()).rejects.toMatchObject({
      errors: [{ code: 'ECONNREFUSED', address: DEAD }, { code: 'ECONNREFUSED' }],
    });
    resolver.say(HOST, [DEAD]);
    await expect(connected()).rejects.toMatchObject({ code: 'ECONNREFUSED', address: DEAD });
    expect(resolver.asked).toHaveLength(2);
  });

  it.each(['HANGS', 'silent'] as const)(
    'fails after its timeout, and does not prevent the next one: %s',
    async (what) => {
      resolver.say(HOST, what === 'HANGS' ? [HANGS] : 'silent');
      await expect(connected(30)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
      resolver.say(HOST, [HANGS, WELL]);
      // The address that hung was forgotten, so the name was looked up again.
      expect(await connected()).toBe(WELL);
      letThrough();
      expect(server.listening).toBe(true);
    },
  );
});
