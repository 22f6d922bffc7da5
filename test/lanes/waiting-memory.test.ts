import { expect, it, onTestFinished } from 'vitest';
import type { ProxyRequest } from '../../src/answer/answer.ts';
import type { PublicServer } from '../../src/http/public/public-server.ts';
import { usedHeapBytes } from '../support/collect-garbage.ts';
import { loneServer } from './lone-server.ts';
import { MemorySocket } from './memory-socket.ts';

const MIB = 1024 * 1024;
const CLIENTS = 200;
const HEAD_BYTES = 60_000;

/** A server in which every request waits forever. */
function startWaitingServer(waiting: ProxyRequest[]): PublicServer {
  return loneServer({
    handler: {
      handle: (request) => {
        waiting.push(request);
        return new Promise(() => {});
      },
    },
    hits: { findHit: () => undefined, countHit: () => {} },
    gzip: { bodyFor: () => new Promise(() => {}), move: () => {} },
    now: () => 0,
    maxHeaderBytes: 2 * HEAD_BYTES,
    keepAliveMs: 60_000,
  });
}

// In V8 a part of a string keeps the whole string alive: here that would be 12 MB of heads.
it('a waiting request keeps its query and its headers in memory, not the whole read', async () => {
  const waiting: ProxyRequest[] = [];
  const waitingServer = startWaitingServer(waiting);
  onTestFinished(() => waitingServer.drain(0));
  const { server } = waitingServer;
  const before = usedHeapBytes();
  const sockets = Array.from({ length: CLIENTS }, (_, client) => {
    const socket = new MemorySocket();
    server.emit('connection', socket);
    const fields = `Host: x\r\nX-Request-Id: the-request-of-client-${client}\r\nX-Pad: ${'x'.repeat(HEAD_BYTES)}\r\n`;
    socket.push(Buffer.from(`GET /api/v3/masterchainBlockShards?seqno=${1e9 + client} HTTP/1.1\r\n${fields}\r\n`));
    return socket;
  });
  await expect.poll(() => waiting.length).toBe(CLIENTS);
  expect(usedHeapBytes() - before).toBeLessThan(6 * MIB);
  expect(waiting[7]).toMatchObject({
    rawQuery: 'seqno=1000000007',
    headers: { 'x-request-id': 'the-request-of-client-7' },
  });
  for (const socket of sockets) socket.destroy();
});
