import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { JointWrites } from '../../../src/http/public/joint-write.ts';

/** Two ends of one connection. */
async function connected(): Promise<{ server: Socket; client: Socket; [Symbol.asyncDispose]: () => Promise<void> }> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  const client = connect(address.port, '127.0.0.1').pause();
  const [server] = (await once(listener, 'connection')) as [Socket];
  return {
    server,
    client,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      server.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

/** All that comes until the other end is closed. */
async function read(client: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of client) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

test.each([
  ['of a few bytes', 10],
  ['that just fills the buffer', 32 * 1024 - 6],
  ['that is too large for the buffer', 32 * 1024],
])('a head and a body %s arrive as they are, one after the other', async (_, length) => {
  await using connection = await connected();
  const writes = new JointWrites();
  const bodies = ['a', 'b', 'c'].map((letter) => letter.repeat(length));
  for (const body of bodies) writes.write(connection.server, 'head\xe9\n', Buffer.from(body));
  connection.server.end();
  expect(await read(connection.client)).toBe(bodies.map((body) => `head\xe9\n${body}`).join(''));
});

test('what a stalled connection has not taken is not changed by the writes of others', async () => {
  await using stalled = await connected();
  await using other = await connected();
  const writes = new JointWrites();
  let expected = '';
  for (let count = 0; stalled.server.writableLength === 0; count++) {
    const body = String(count % 10).repeat(20_000);
    writes.write(stalled.server, 'head', Buffer.from(body));
    expected += `head${body}`;
  }
  for (let count = 0; count < 3; count++) writes.write(other.server, 'else', Buffer.alloc(20_000, 'x'));
  stalled.server.end();
  expect((await read(stalled.client)) === expected).toBe(true);
});
