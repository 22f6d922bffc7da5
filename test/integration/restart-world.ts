import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { freePort } from '../support/free-port.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

/*
 * Processes that share a public port are restarted one after the other, while clients open a new connection for each
 * request: started by `restart.test.ts` in its own network namespace. Writes one line of JSON: the number of answers,
 * and the results of the other requests.
 */

/** New connections a second. */
const RATE = 500;
const RESTARTS = 4;

const indexer = await startIndexer();
const port = await freePort();
const settings = { UPSTREAM_URL: indexer.url, NETWORK: 'mainnet', PORT: String(port), REUSE_PORT: 'on' };
const target = `/api/v3/masterchainBlockShards?seqno=${indexer.chain.headSeqno - 5}`;
const get = `GET ${target} HTTP/1.1\r\nHost: toncache\r\n\r\n`;

let answered = 0;
const lost: string[] = [];

/** One request on a new connection, which its client ends after the answer. */
function askOnce(): Promise<void> {
  return new Promise((resolve) => {
    let text = '';
    const end = (why: string) => {
      if (text.startsWith('HTTP/1.1 200')) answered++;
      else lost.push(why);
      socket.destroy();
      resolve();
    };
    const socket = connect(port, '127.0.0.1', () => void socket.write(get));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    socket.on('close', () => end('closed'));
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (text.includes('\r\n\r\n')) end('cut short');
    });
  });
}

const running = [await ProxyProcess.start(settings), await ProxyProcess.start(settings)];
let isOver = false;
const clients = (async () => {
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let sent = 0; !isOver; ) {
    for (const due = ((performance.now() - startedAt) * RATE) / 1000; sent < due; sent++) {
      const asking = askOnce();
      underWay.add(asking);
      void asking.finally(() => underWay.delete(asking));
    }
    await sleep(1);
  }
  await Promise.all(underWay);
})();

for (let restart = 0; restart < RESTARTS; restart++) {
  const next = await ProxyProcess.start(settings);
  const oldest = running.shift() as ProxyProcess;
  oldest.signal('SIGTERM');
  await oldest.ended;
  running.push(next);
}
isOver = true;
await clients;
for (const each of running) each.signal('SIGKILL');
console.log(JSON.stringify({ answered, lost }));
process.exit(0);
