import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sizeOf } from './sized-calls.ts';

// A process: an indexer that answers at once, with as many KB as it is asked for. What it says is old, so it is cached
// for an hour, and has as much in it that cannot be compressed as the real one's.

/** Long ago. */
const NOW = 1_700_000_000;

function digest(...parts: (string | number)[]): string {
  return hash('sha256', parts.join('/'), 'base64');
}

function row(number: number): object {
  const account = (salt: string) => `0:${hash('sha256', `${salt}${number}`, 'hex').toUpperCase()}`;
  return {
    account: account('own'),
    hash: digest(number, 'hash'),
    lt: String(62_000_000_000_000 + number * 1_000_003),
    now: NOW,
    mc_block_seqno: 62_000_000 + number,
    emulated: false,
    trace_id: digest(number >> 3, 'trace'),
    prev_trans_hash: digest(number, 'previous'),
    total_fees: String(2_000_000 + (number % 977)),
    block_ref: { workchain: 0, shard: '8000000000000000', seqno: 67_000_000 + number },
    in_msg: {
      hash: digest(number, 'message'),
      source: account('other'),
      destination: account('own'),
      value: String(1_000_000_000 + number * 7919),
      created_at: String(NOW),
      message_content: { hash: digest(number, 'content'), body: digest(number, 'body') + digest(number, 'cells') },
    },
  };
}

function bodyOf(sizeKb: number): Buffer {
  const rows: string[] = [];
  const frame = '{"address_book":{},"transactions":[],"padding":""}'.length;
  let bytes = frame;
  for (let next = JSON.stringify(row(0)); bytes + next.length + 1 <= sizeKb * 1000; ) {
    rows.push(next);
    bytes += next.length + 1;
    next = JSON.stringify(row(rows.length));
  }
  const padding = 'x'.repeat(Math.max(0, sizeKb * 1000 - bytes));
  return Buffer.from(`{"address_book":{},"transactions":[${rows.join(',')}],"padding":"${padding}"}`);
}

const bodies = new Map<number, Buffer>();

const server = createServer((request, response) => {
  if (request.url === '/api/v3/masterchainInfo') {
    const head = JSON.stringify({ last: { gen_utime: String(Math.floor(Date.now() / 1000)) } });
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(head);
    return;
  }
  const query = new URLSearchParams(request.url?.split('?')[1]);
  const given = query.get('hash') ?? '';
  const sizeKb = given.length === 64 ? Number.parseInt(given.slice(0, 2), 16) : sizeOf(given);
  const body = bodies.get(sizeKb) ?? bodyOf(sizeKb);
  bodies.set(sizeKb, body);
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body);
});
server.keepAliveTimeout = 30_000;
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
