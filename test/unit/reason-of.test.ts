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

test('a server that speaks no TLS is a reason of one short line', async () => {
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
