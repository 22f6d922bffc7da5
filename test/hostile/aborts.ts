import { setTimeout } from 'node:timers/promises';
import { ask, connectTo } from '../support/http-client.ts';
import { startRedis } from '../support/redis-server.ts';
import { type Arena, type Attack, attackUntilOver } from './attack.ts';
import { readEcho, startEchoIndexer } from './echo-indexer.ts';
import { withVictim } from './victim.ts';

const WORKERS = 8;
const MOST_LEAVING = 6;

/**
 * Clients disconnect within their request, while it waits, or within its answer. Other clients that request the same
 * get their answers, and nothing is left over. See `victim.ts` for the gauges.
 */
export const aborts: Attack = { name: 'aborts at any stage', run };

async function run(arena: Arena): Promise<void> {
  const { random, tally } = arena;
  await using redis = await startRedis();
  await using indexer = await startEchoIndexer();
  indexer.latencyMs = () => (random.chance(0.7) ? random.int(1, 40) : 0);
  const env = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, PASSTHROUGH: 'on', UPSTREAM_MAX_CONCURRENCY: '8' };
  await withVictim(arena, { env }, async ({ url }) => {
    let seqno = 0;
    await attackUntilOver(arena, WORKERS, async () => {
      const target = `/api/v3/masterchainBlockShards?seqno=${seqno++}`;
      const leaving = Array.from({ length: random.int(1, MOST_LEAVING) }, () => askAndLeave(arena, url, target));
      await Promise.all([...leaving, askAndStay(arena, url, target), askAndStay(arena, url, target)]);
      if (random.chance(0.3)) await askAndStay(arena, url, target);
    });
  });
  for (const reason of indexer.malformed) tally.violation('the indexer got a malformed request', reason);
}

async function askAndLeave({ random, tally }: Arena, url: string, target: string): Promise<void> {
  const isPassedThrough = random.chance(0.2);
  const request = isPassedThrough
    ? `POST /api/v3/estimateFee HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n${'x'.repeat(50_000)}`
    : `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(random.pick([1, 1, 3]));
  const socket = connectTo(url);
  const isWhole = random.chance(0.7);
  socket.write(isWhole ? request : request.slice(0, random.int(0, request.length - 1)));
  const left = Promise.withResolvers<void>();
  const leave = () => {
    if (random.chance(0.5)) socket.destroy();
    else socket.resetAndDestroy();
  };
  socket.on('close', () => left.resolve());
  const bytes = random.int(1, 50_000);
  if (isWhole && random.chance(0.3)) {
    let received = 0;
    socket.on('data', (part: Buffer) => {
      received += part.length;
      if (received >= bytes) leave();
    });
    tally.count('left within the answer');
  } else tally.count(isWhole ? 'left after the request' : 'left within the request');
  await Promise.race([setTimeout(random.int(0, 60)), left.promise]);
  leave();
  await left.promise;
}

async function askAndStay({ random, tally }: Arena, url: string, target: string): Promise<void> {
  await setTimeout(random.int(0, 20));
  const { status, text } = await ask(url, target);
  tally.count('stayed');
  if (status === 503) tally.count('refused');
  else if (readEcho(status, text)?.target !== target) tally.violation('a wrong answer', `${target}: ${status} ${text}`);
}
