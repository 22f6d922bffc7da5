import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { gatherCommands } from '../../../src/redis/gather-commands.ts';

/** A socket that only notes what is written to it at once. */
function notingSocket() {
  const socket = new Socket();
  const writes: string[] = [];
  vi.spyOn(socket, '_write').mockImplementation((chunk, _, done) => {
    writes.push(String(chunk));
    done();
  });
  socket._writev = (chunks, done) => {
    writes.push(chunks.map(({ chunk }) => String(chunk)).join(''));
    done();
  };
  const send = (command: string) => {
    gatherCommands(socket);
    socket.write(command);
  };
  return { socket, writes, send };
}

test('the commands of one turn leave in one write, those of the next in another', async () => {
  const { writes, send } = notingSocket();
  send('a');
  send('b');
  expect(writes).toEqual([]);
  await turn();
  expect(writes).toEqual(['ab']);
  send('c');
  await turn();
  send('d');
  await turn();
  expect(writes).toEqual(['ab', 'c', 'd']);
});

test('each connection has its own', async () => {
  const [one, other] = [notingSocket(), notingSocket()];
  one.send('a');
  other.send('b');
  await turn();
  expect([one.writes, other.writes]).toEqual([['a'], ['b']]);
});

test('a connection that ends in the same turn loses nothing that was sent before', () => {
  const { socket, writes, send } = notingSocket();
  send('a');
  send('b');
  socket.end();
  expect(writes).toEqual(['ab']);
});
