import { connect, type Socket } from 'node:net';
import { sizedPath } from '../sized-calls.ts';

// A process: asks for paths one after another on each of its connections, until all have been asked for. It reads no
// more of an answer than its length, so that it costs little beside the server that is measured.

/** The argument, as JSON. */
export interface LoopOrder {
  readonly port: number;
  readonly sizeKb: number;
  /** Numbers of the paths: `first`, `first + 1`, ... each taken `modulo` the number of distinct ones. */
  readonly first: number;
  readonly distinct: number;
  readonly requests: number;
  readonly connections: number;
}

/** What it prints, as JSON: the number of answers by status and `Cache-Status`, whose numbers are left out. */
export interface LoopResult {
  readonly statuses: Readonly<Record<string, number>>;
}

const HEAD_END = '\r\n\r\n';

const order: LoopOrder = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await run(order)));

async function run({ port, sizeKb, first, distinct, requests, connections }: LoopOrder): Promise<LoopResult> {
  const statuses: Record<string, number> = {};
  let asked = 0;
  const nextPath = () => (asked < requests ? sizedPath(sizeKb, first + (asked++ % distinct)) : undefined);
  const each = Array.from({ length: connections }, () => runOne(port, nextPath, statuses));
  await Promise.all(each);
  return { statuses };
}

function runOne(port: number, nextPath: () => string | undefined, statuses: Record<string, number>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let head = '';
  /** Bytes of the body that have not come yet; `undefined` while the head has not come whole. */
  let left: number | undefined;
  const ask = () => {
    const path = nextPath();
    if (path === undefined) {
      socket.end();
      resolve();
    } else {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    }
  };
  socket.on('connect', ask).on('error', reject);
  socket.on('data', (chunk) => {
    let bodyBytes = chunk.length;
    if (left === undefined) {
      head += chunk.toString('latin1');
      const end = head.indexOf(HEAD_END);
      if (end < 0) return;
      bodyBytes = head.length - end - HEAD_END.length;
      const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(head) ?? [];
      const [, cacheStatus = ''] = /^cache-status: ([^\r]*)/im.exec(head.slice(0, end)) ?? [];
      const told = `${status} ${cacheStatus.replace(/(ttl|fwd-status)=-?\d+; ?/g, '')}`;
      statuses[told] = (statuses[told] ?? 0) + 1;
      left = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
      head = '';
    }
    left -= bodyBytes;
    if (left > 0) return;
    left = undefined;
    ask();
  });
  return promise;
}
