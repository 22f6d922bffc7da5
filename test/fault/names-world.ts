import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDnsServer, type Zone } from '../support/dns-server.ts';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http-client.ts';
import { children } from '../support/json-upstream.ts';
import { type Launched, launch } from '../support/launch.ts';

/*
 * toncache in front of real names: started by `names.slow.test.ts` in its own network and mount namespace, where this
 * program is the resolver. Writes one line of JSON for each attempt: the attempt, and its result.
 */

const zone: Zone = new Map();
using _ = await startDnsServer(zone);
// Like a resolver with its defaults: it waits 10 s for an answer.
writeFileSync('/etc/resolv.conf', 'nameserver 127.0.0.1\n');
appendFileSync('/etc/hosts', '\n127.0.0.1 hosts.test\n');
const port = await freePort();

/** An indexer that closes each connection, so that each request needs a new one. */
async function startIndexer(host: string): Promise<Server> {
  const { body } = children('a');
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', Connection: 'close' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => void server.listen(port, host, resolve));
  return server;
}

async function start(environment: Readonly<Record<string, string>>): Promise<{ url: string; launched: Launched }> {
  const launched = launch(new URL('../../src/cli/main.ts', import.meta.url), {
    args: ['start'],
    environment: { PORT: '0', ADMIN_PORT: '0', NETWORK: 'mainnet', ...environment },
  });
  return { url: await launched.next((line) => (line as { publicUrl?: string }).publicUrl), launched };
}

let asked = 0;

async function miss(url: string): Promise<number> {
  asked++;
  const hash = asked.toString(16).padStart(64, '0');
  return (await ask(url, `/api/v3/adjacentTransactions?hash=${hash}&direction=in`)).status;
}

async function misses(url: string, count: number, everyMs: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < count; time++) {
    statuses.push(await miss(url));
    await sleep(everyMs);
  }
  return statuses;
}

const say = (tried: string, came: unknown) => console.log(JSON.stringify({ tried, came }));

const [first, second] = [await startIndexer('127.0.0.1'), await startIndexer('127.0.0.2')];

zone.set('a.test', ['127.0.0.1']).set('b.test', ['127.0.0.2']).set('redis.test', 'silent');
{
  const { url, launched } = await start({
    UPSTREAM_URL: `http://a.test:${port},http://b.test:${port}`,
    REDIS_URL: 'redis://redis.test',
  });
  await using _ = launched;
  await misses(url, 2, 0);
  zone.set('b.test', 'silent');
  say('names that hang: of an indexer and of Redis', await misses(url, 10, 2000));
}
{
  const { url, launched } = await start({ UPSTREAM_URL: `http://hosts.test:${port}` });
  await using _ = launched;
  say('a name in /etc/hosts', await misses(url, 1, 0));
}
zone.set('moves.test', ['127.0.0.1']);
{
  const { url, launched } = await start({ UPSTREAM_URL: `http://moves.test:${port}` });
  await using _ = launched;
  await misses(url, 5, 100);
  let isFollowed = false;
  second.on('request', () => {
    isFollowed = true;
  });
  const movedAt = performance.now();
  zone.set('moves.test', ['127.0.0.2']);
  while (!isFollowed && performance.now() - movedAt < 60_000) await misses(url, 1, 100);
  say('seconds until a new address is followed', (performance.now() - movedAt) / 1000);
  first.close();
  first.closeAllConnections();
}
zone.set('fails.test', ['127.0.0.1']);
{
  const again = await startIndexer('127.0.0.1');
  const { url, launched } = await start({ UPSTREAM_URL: `http://fails.test:${port}` });
  await using _ = launched;
  await misses(url, 2, 0);
  zone.set('fails.test', ['127.0.0.2']);
  again.close();
  again.closeAllConnections();
  say('30 misses at once after a failover', await Promise.all(Array.from({ length: 30 }, () => miss(url))));
}
process.exit(0);
