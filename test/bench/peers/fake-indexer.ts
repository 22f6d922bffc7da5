import { createServer } from 'node:net';
import { blocksBody, transactionsBody } from './bodies.ts';
import { HEAD_SEQNO } from './targets.ts';

// A process: an indexer that answers at once and needs little CPU. Its argument is the port. It counts requests, so that
// the bench can check that hits did not reach it.

const blocks = blocksBody();
/** Whole answers by the size of their bodies in KB. */
const answers = new Map<number, Buffer>();
let requests = 0;

const server = createServer((socket) => {
  let unread = '';
  socket.setNoDelay(true);
  socket.on('data', (bytes) => {
    unread += bytes.toString('latin1');
    for (let end = unread.indexOf('\r\n\r\n'); end >= 0; end = unread.indexOf('\r\n\r\n')) {
      const target = unread.slice(unread.indexOf(' ') + 1, unread.indexOf(' HTTP/1.'));
      unread = unread.slice(end + 4);
      socket.write(answerTo(target));
    }
  });
  socket.on('error', () => socket.destroy());
});
server.listen(Number(process.argv[2]), '127.0.0.1');

function answerTo(target: string): Buffer {
  if (target === '/requests') return answer(JSON.stringify({ requests }));
  if (target.includes('masterchainInfo')) {
    return answer(JSON.stringify({ last: { seqno: HEAD_SEQNO, gen_utime: String(Math.floor(Date.now() / 1000)) } }));
  }
  requests++;
  const seqno = parameter(target, 'seqno');
  if (seqno !== undefined) return answer(blocks.join(seqno));
  const hash = decodeURIComponent(parameter(target, 'hash') ?? '');
  const sizeKb = Buffer.from(hash, hash.length === 64 ? 'hex' : 'base64').readUInt8(0);
  const made = answers.get(sizeKb) ?? answer(transactionsBody(sizeKb));
  answers.set(sizeKb, made);
  return made;
}

function parameter(target: string, name: string): string | undefined {
  return new RegExp(`[?&]${name}=([^&]*)`).exec(target)?.[1];
}

function answer(body: string): Buffer {
  const head = ['HTTP/1.1 200 OK', 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
