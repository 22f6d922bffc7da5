import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { ProcessWorld } from './process-world.ts';

const INFO = '$22\r\nredis_version:6.2.0\r\n\r\n\r\n';

/** A Redis from before version 6 that answers the commands at the beginning of a connection, and nothing else. */
async function startOldRedis(answers: Readonly<Record<string, string>>) {
  const begun = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      for (const [, name = ''] of String(bytes).matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)/gm)) {
        const known: Readonly<Record<string, string>> = { hello: "-ERR unknown command 'HELLO'\r\n", info: INFO };
        socket.write(answers[name] ?? known[name] ?? '+OK\r\n');
        // With toncache's own first command the connection has begun.
        if (name === 'get' || name === 'evalsha') begun.resolve();
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `redis://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}`,
    begun: begun.promise,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

it.each([
  ['has no password', { auth: '-ERR Client sent AUTH, but no password is set\r\n' }],
  [
    'has no password for its default user',
    { auth: '-ERR AUTH <password> called without any password configured for the default user.\r\n' },
  ],
  ['knows no users', { auth: "-ERR wrong number of arguments for 'auth' command\r\n" }],
  ['allows nobody to run INFO', { info: "-NOPERM this user has no permissions to run the 'info' command\r\n" }],
])('a process writes nothing but log lines if its Redis %s', async (_, answers) => {
  await using redis = await startOldRedis(answers);
  await using world = await ProcessWorld.start();
  await using proxy = await world.startProcess({ REDIS_URL: redis.url, NETWORK: 'mainnet' });
  await redis.begun;
  proxy.signal('SIGTERM');
  await proxy.ended;
  expect(proxy.log.length).toBeGreaterThan(0);
  expect(proxy.errors).toBe('');
});
