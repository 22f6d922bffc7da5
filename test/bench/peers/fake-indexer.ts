import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { launchPinned } from '../support/processes.ts';
import { blocksBody, pageBody, transactionsBody } from './bodies.ts';
import { HEAD_SEQNO } from './targets.ts';

/** An indexer in its own process that answers at once and needs little CPU. */
export interface FakeIndexer extends AsyncDisposable {
  readonly url: string;
  /** The number of requests that it got, so that a bench can check that hits did not reach it. */
  requests(): Promise<number>;
}

/** Starts the fake indexer on these cores, in the syntax of `taskset -c`. */
export async function startFakeIndexer(cores?: string): Promise<FakeIndexer> {
  const launched = launchPinned([process.execPath, fileURLToPath(import.meta.url)], cores);
  const { url } = await launched.next((line) => line as { readonly url: string });
  return Object.assign(launched, {
    url,
    requests: async () => Number(await (await fetch(`${url}/requests`)).text()),
  });
}

if (import.meta.main) console.log(JSON.stringify({ url: await serveFakeIndexer() }));

/** Serves the fake indexer from this process, at a free port; resolves with its URL. */
export async function serveFakeIndexer(): Promise<string> {
  const blocks = blocksBody();
  /** Whole answers, and pages of a block, by the size of their bodies in KB. */
  const answers = new Map<number, Buffer>();
  const pages = new Map<number, readonly string[]>();
  let requests = 0;
  const answerTo = (target: string): Buffer => {
    if (target === '/requests') return answer(String(requests));
    if (target.includes('masterchainInfo')) {
      return answer(JSON.stringify({ last: { seqno: HEAD_SEQNO, gen_utime: String(Math.floor(Date.now() / 1000)) } }));
    }
    requests++;
    const seqno = parameter(target, '(?:mc_)?seqno');
    if (seqno !== undefined) {
      const sizeKb = Number(parameter(target, 'limit') ?? 0);
      const page = pages.get(sizeKb) ?? (sizeKb === 0 ? blocks : pageBody(sizeKb));
      pages.set(sizeKb, page);
      return answer(page.join(seqno));
    }
    const hash = decodeURIComponent(parameter(target, 'hash') ?? '');
    const sizeKb = Buffer.from(hash, hash.length === 64 ? 'hex' : 'base64').readUInt8(0);
    const made = answers.get(sizeKb) ?? answer(transactionsBody(sizeKb));
    answers.set(sizeKb, made);
    return made;
  };
  const server = createServer({ noDelay: true }, (socket) => {
    let unread = '';
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
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function parameter(target: string, name: string): string | undefined {
  return new RegExp(`[?&]${name}=([^&]*)`).exec(target)?.[1];
}

function answer(body: string): Buffer {
  const head = ['HTTP/1.1 200 OK', 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
