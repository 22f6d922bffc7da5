import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ProxyError } from '../../src/errors.ts';
import { freePort } from '../support/free-port.ts';
import { type Script, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { ANSWER, answers, BODY, clientOf } from './scripted-client.ts';

const breaks: [string, Script][] = [
  ['is closed', (socket) => socket.end()],
  ['is reset', (socket) => socket.resetAndDestroy()],
  ['receives no HTTP', (socket) => socket.end('220 mail.example ESMTP\r\n')],
  ['ends within the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n')],
  ['receives a head of 70 KB', (socket) => socket.write(`${ANSWER}X: ${'x'.repeat(70_000)}\r\n\r\n${BODY}`)],
];

/** An error as the client throws it. */
async function failure(request: Promise<unknown>): Promise<ProxyError> {
  const thrown = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ProxyError)) throw new Error('it did not fail');
  return thrown;
}

describe('a request', () => {
  it.each(breaks)('fails and is sent only once if its new connection %s', async (_, script) => {
    await using upstream = await startScriptedUpstream(script);
    await using client = clientOf(upstream.url);
    expect(await failure(client.fetch())).toMatchObject({ code: 'upstream-reset' });
    expect(upstream.heads).toHaveLength(1);
    expect(await failure(client.forward())).toMatchObject({ code: 'upstream-reset' });
    expect(upstream.heads).toHaveLength(2);
  });

  it.each([
    ['nothing listens at the address', async () => `http://127.0.0.1:${await freePort()}`],
    ['the name does not exist', async () => 'http://nobody.invalid'],
  ])('fails as unreachable if %s', async (_, urlOf) => {
    await using client = clientOf(await urlOf());
    expect(await failure(client.fetch())).toMatchObject({ code: 'upstream-unreachable' });
    expect(await failure(client.forward())).toMatchObject({ code: 'upstream-unreachable' });
  });

  it('fails as unreachable if its connection is reset before TLS is established', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.resetAndDestroy());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as { port: number };
    await using client = clientOf(`https://127.0.0.1:${port}`);
    expect(await failure(client.fetch())).toMatchObject({ code: 'upstream-unreachable' });
    expect(await failure(client.forward())).toMatchObject({ code: 'upstream-unreachable' });
    server.close();
  });

  it('accepts an answer whose head has 60 KB', async () => {
    await using upstream = await startScriptedUpstream((socket) => {
      socket.write(`${ANSWER}${`X-Policy: ${'x'.repeat(600)}\r\n`.repeat(100)}\r\n${BODY}`);
    });
    await using client = clientOf(upstream.url);
    expect((await client.fetch()).body.toString()).toBe(BODY);
    expect((await client.forward()).status).toBe(200);
  });
});

describe('an idle connection that ends when a request is sent on it', () => {
  const ONE = { maxConnections: 1, maxForwardConnections: 1 };

  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Answers on a new connection, and ends one that has answered when a request comes. */
  const endsUsed = (end: (socket: Socket) => unknown): Script => {
    const used = new WeakSet<Socket>();
    return (socket) => {
      if (used.has(socket)) end(socket);
      else answers(socket);
      used.add(socket);
    };
  };

  it.each([
    ['closed', (socket: Socket) => socket.end()],
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('is replaced, and every request of a burst is answered: %s', async (_, end) => {
    // On a busy machine no connection may break so long after its request that it does not count as idle.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    await using upstream = await startScriptedUpstream(endsUsed(end));
    await using client = clientOf(upstream.url, { maxConnections: 8 });
    for (let burst = 1; burst <= 3; burst++) {
      const fetched = await Promise.all(Array.from({ length: 8 }, () => client.fetch()));
      expect(fetched.map(({ status }) => status)).toEqual(Array(8).fill(200));
    }
    // Each of the later bursts was sent twice, the second time on a new connection.
    expect([upstream.connections, upstream.heads.length]).toEqual([24, 40]);
  });

  describe('with a rate limit', () => {
    /** The waiters for the right to repeat a request, in order. */
    function repeats() {
      const waiting: { readonly isWanted: () => boolean; readonly end: (may: boolean) => void }[] = [];
      const mayRepeat = (isWanted: () => boolean) =>
        new Promise<boolean>((end) => void waiting.push({ isWanted, end }));
      return { waiting, mayRepeat };
    }

    it('delays its request until it may be sent again, on a new connection although others are idle', async () => {
      vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      const { waiting, mayRepeat } = repeats();
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      await using client = clientOf(upstream.url, { maxConnections: 8, mayRepeat });
      await Promise.all(Array.from({ length: 8 }, () => client.fetch()));
      const fetched = Promise.all(Array.from({ length: 4 }, () => client.fetch()));
      await expect.poll(() => waiting.length).toBe(4);
      expect([upstream.connections, upstream.heads.length]).toEqual([8, 12]);
      for (const { end } of waiting.splice(0)) end(true);
      expect((await fetched).map(({ status }) => status)).toEqual(Array(4).fill(200));
      // Each was sent twice, although four connections were idle all the time.
      expect([upstream.connections, upstream.heads.length, waiting.length]).toEqual([12, 16, 0]);
    });

    it('leaves its place in the pool to other requests in the meantime', async () => {
      vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      const { waiting, mayRepeat } = repeats();
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      await using client = clientOf(upstream.url, { maxConnections: 1, mayRepeat });
      await client.fetch();
      const repeated = client.fetch();
      await expect.poll(() => waiting.length).toBe(1);
      expect((await client.fetch()).status).toBe(200);
      waiting[0]?.end(true);
      expect((await repeated).status).toBe(200);
      expect([upstream.connections, upstream.heads.length]).toEqual([3, 4]);
    });

    it('fails a request that may not be sent again', async () => {
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      await using client = clientOf(upstream.url, { ...ONE, mayRepeat: async () => false });
      await client.fetch();
      expect(await failure(client.fetch())).toMatchObject({ code: 'upstream-reset' });
      expect(upstream.heads).toHaveLength(2);
    });

    it('does not send a request again after its timeout', async () => {
      const { waiting, mayRepeat } = repeats();
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      await using client = clientOf(upstream.url, { ...ONE, mayRepeat });
      await client.fetch();
      expect(await failure(client.fetch(undefined, undefined, 300))).toMatchObject({ code: 'upstream-timeout' });
      expect(waiting.map(({ isWanted }) => isWanted())).toEqual([false]);
      waiting[0]?.end(true);
      await client.fetch();
      expect(upstream.heads).toHaveLength(3);
    });
  });

  it('fails a request as unreachable if no new connection can be opened', async () => {
    let listening = true;
    const upstream = await startScriptedUpstream((socket) => {
      if (listening) return answers(socket);
      socket.end();
    });
    await using client = clientOf(upstream.url, ONE);
    await client.fetch();
    listening = false;
    const closed = upstream.stopListening();
    expect(await failure(client.fetch())).toMatchObject({ code: 'upstream-unreachable' });
    await closed;
  });

  it.each<[string, (socket: Socket) => unknown, code: string]>([
    ['after the first byte', (socket) => socket.end('H'), 'upstream-reset'],
    ['after an interim answer', (socket) => socket.end('HTTP/1.1 103 Early Hints\r\n\r\n'), 'upstream-reset'],
    ['after the head', (socket) => socket.end(`${ANSWER}\r\n`), 'upstream-invalid'],
  ])('fails a request that was answered in part: %s', async (_, end, code) => {
    await using upstream = await startScriptedUpstream(endsUsed(end));
    await using client = clientOf(upstream.url, ONE);
    await client.fetch();
    expect(await failure(client.fetch())).toMatchObject({ code });
    expect(upstream.heads).toHaveLength(2);
  });

  it('fails a request that the indexer has worked on for more than 100 ms', async () => {
    const waiting: Socket[] = [];
    await using upstream = await startScriptedUpstream(endsUsed((socket) => waiting.push(socket)));
    await using client = clientOf(upstream.url, ONE);
    await client.fetch();
    const second = failure(client.fetch());
    await expect.poll(() => waiting.length).toBe(1);
    const later = performance.now() + 101;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    waiting[0]?.end();
    expect(await second).toMatchObject({ code: 'upstream-reset' });
    expect(upstream.heads).toHaveLength(2);
  });

  describe('and is passed through', () => {
    it.each([
      ['closed', (socket: Socket) => socket.end()],
      ['reset', (socket: Socket) => socket.resetAndDestroy()],
    ])('is replaced for requests that change nothing, each sent once more: %s', async (_, end) => {
      vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      await using upstream = await startScriptedUpstream(endsUsed(end));
      await using client = clientOf(upstream.url, { maxForwardConnections: 8 });
      for (let burst = 1; burst <= 3; burst++) {
        const body = burst === 3 ? Buffer.from('') : undefined;
        const all = Array.from({ length: 8 }, () => client.forward(true, undefined, body));
        expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(8).fill(200));
      }
      expect([upstream.connections, upstream.heads.length]).toEqual([24, 40]);
    });

    it('fails any other request, which is sent once', async () => {
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      await using client = clientOf(upstream.url, ONE);
      await client.forward();
      expect(await failure(client.forward())).toMatchObject({ code: 'upstream-reset' });
      expect(upstream.heads).toHaveLength(2);
    });

    it('waits for the rate limit, and fails if it may not be sent again', async () => {
      vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      const asked: (() => boolean)[] = [];
      const may = Promise.withResolvers<boolean>();
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      const mayRepeat = (isWanted: () => boolean) => {
        asked.push(isWanted);
        return asked.length === 1 ? may.promise : Promise.resolve(false);
      };
      await using client = clientOf(upstream.url, { ...ONE, mayRepeat });
      await client.forward(true);
      const repeated = client.forward(true);
      await expect.poll(() => asked.length).toBe(1);
      expect([asked[0]?.(), upstream.heads.length]).toEqual([true, 2]);
      may.resolve(true);
      expect((await repeated).status).toBe(200);
      expect(await failure(client.forward(true))).toMatchObject({ code: 'upstream-reset' });
      expect(upstream.heads).toHaveLength(4);
    });

    it('is not waited for after its client has left, and is not sent then', async () => {
      vi.spyOn(performance, 'now').mockReturnValue(performance.now());
      const may = Promise.withResolvers<boolean>();
      let isWanted = (): boolean => true;
      const mayRepeat = (wanted: () => boolean) => {
        isWanted = wanted;
        return may.promise;
      };
      await using upstream = await startScriptedUpstream(endsUsed((socket) => socket.end()));
      await using client = clientOf(upstream.url, { ...ONE, mayRepeat });
      await client.forward(true);
      const leaving = new AbortController();
      const asked = client.forward(true, leaving.signal);
      await expect.poll(() => upstream.heads.length).toBe(2);
      const left = new Error('left');
      leaving.abort(left);
      await expect(asked).rejects.toBe(left);
      expect(isWanted()).toBe(false);
      may.resolve(true);
      await client.forward();
      expect(upstream.heads).toHaveLength(3);
    });

    it.each<[string, (socket: Socket) => unknown]>([
      ['after the first byte', (socket) => socket.end('H')],
      ['after an interim answer', (socket) => socket.end('HTTP/1.1 103 Early Hints\r\n\r\n')],
    ])('fails a request that was answered in part: %s', async (_, end) => {
      await using upstream = await startScriptedUpstream(endsUsed(end));
      await using client = clientOf(upstream.url, ONE);
      await client.forward();
      expect(await failure(client.forward(true))).toMatchObject({ code: 'upstream-reset' });
      expect(upstream.heads).toHaveLength(2);
    });
  });

  it('fails a request that is in flight when the client closes', async () => {
    await using upstream = await startScriptedUpstream(endsUsed(() => {}));
    const client = clientOf(upstream.url, ONE);
    await client.fetch();
    const second = failure(client.fetch());
    await expect.poll(() => upstream.heads.length).toBe(2);
    await client.close();
    expect(await second).toMatchObject({ code: 'shutting-down' });
  });
});
