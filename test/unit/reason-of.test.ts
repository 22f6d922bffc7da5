import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { reasonOf } from '../../src/reason-of.ts';

test('the reason is that of the innermost cause', () => {
  const inner = new Error('connect ECONNREFUSED 127.0.0.1:1');
  expect(reasonOf(new Error('fetch failed', { cause: new AggregateError([inner, new Error('another')]) }))).toBe(
    inner.message,
  );
  expect([reasonOf('no error'), reasonOf(new Error(''))]).toEqual([undefined, undefined]);
});

test.each([
  [
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
  ],
  [
    "OOM command not allowed when used memory > 'maxmemory'. script: 5f0c, on @user_script:3.",
    "OOM command not allowed when used memory > 'maxmemory'.",
  ],
  [
    'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
    'NOAUTH HELLO must be called with the client already authenticated',
  ],
  [
    'self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
    'self-signed certificate',
  ],
  ['NOAUTH Authentication required.', 'NOAUTH Authentication required.'],
  ['connect ECONNREFUSED 10.0.0.7:6379', 'connect ECONNREFUSED 10.0.0.7:6379'],
  ['no dots '.repeat(40), `${'no dots '.repeat(40).slice(0, 159)}…`],
])(
  'the reason is the first sentence of a message, without advice and in at most 160 characters: %s',
  (message, reason) => {
    expect(reasonOf(new Error(message))).toBe(reason);
  },
);

test('the reason is one short line if the server does not speak TLS', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [error] = await once(client, 'error').catch((thrown: unknown) => [thrown]);
  server.close();
  expect(reasonOf(new Error('wrapped', { cause: error }))).toBe('TLS: wrong version number');
});
