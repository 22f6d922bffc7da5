import { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutAtHeads } from '../../../src/http/fast/cut-at-heads.ts';

const REQUEST = `GET /api/v3/masterchainBlockShards?seqno=77 HTTP/1.1\r\nHost: x\r\n\r\n`;

/** The parts that a connection emits for these reads. */
async function partsOf(reads: readonly Buffer[]): Promise<string[]> {
  const socket = new Socket();
  cutAtHeads(socket, { isCut: () => true, onUnread: () => {} });
  const parts: string[] = [];
  socket.on('data', (part: Buffer) => void parts.push(part.toString('latin1')));
  // A stream emits pushed bytes immediately only while it flows.
  await new Promise((resolve) => void setImmediate(resolve));
  for (const read of reads) socket.push(read);
  return parts;
}

test('the parts contain every byte of any input in order, and are not tiny', async () => {
  const piece = fc.constantFrom(
    '\r\n\r\n',
    '\r\n',
    '\n',
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    REQUEST,
    'body',
    'x'.repeat(70),
  );
  const reads = fc.array(
    fc.array(piece, { minLength: 1, maxLength: 20 }).map((pieces) => Buffer.from(pieces.join(''))),
  );
  await fc.assert(
    fc.asyncProperty(reads, async (given) => {
      const parts = await partsOf(given);
      const sent = Buffer.concat(given).toString('latin1');
      expect(parts.join('')).toBe(sent);
      expect(parts.length).toBeLessThanOrEqual(given.length + sent.length / 60);
      // No part contains two requests of the usual length.
      for (const part of parts) expect(part.indexOf('\r\n\r\n', 56)).toBeOneOf([-1, part.length - 4]);
    }),
  );
});
