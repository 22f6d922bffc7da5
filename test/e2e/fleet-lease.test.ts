import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Fleet } from '../support/fleet.ts';

const HASH = 'ab'.repeat(32);
const CHILDREN = `/api/v3/adjacentTransactions?hash=${HASH}&direction=out`;

function answer(socket: Socket, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  socket.write(
    `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

const transactions = (...hashes: string[]) => ({
  transactions: hashes.map((hash) => ({ hash, now: 1_700_000_000, mc_block_seqno: 7, emulated: false })),
});

describe('three instances on one Redis', () => {
  it('ask the indexer once for a cold key that 300 clients ask for, every time', async () => {
    await using fleet = await Fleet.start((socket) => {
      setTimeout(() => answer(socket, 200, transactions('a')), 400);
    });
    for (let round = 0; round < 10; round++) {
      const target = `/api/v3/adjacentTransactions?hash=${String(round).padStart(64, '0')}`;
      const replies = await Promise.all(Array.from({ length: 300 }, (_, client) => fleet.get(client % 3).ask(target)));
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(fleet.upstream.heads.length).toBe(round + 1);
    }
  });

  it('share what the indexer failed with', async () => {
    await using fleet = await Fleet.start((socket) => {
      setTimeout(() => answer(socket, 500, { error: 'no database' }), 100);
    });
    const replies = await Promise.all(Array.from({ length: 30 }, (_, client) => fleet.get(client % 3).ask(CHILDREN)));
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['500 {"error":"no database"}']),
    );
    expect(fleet.upstream.heads.length).toBe(1);
  });
});
