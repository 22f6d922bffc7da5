import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { constantsInEnvironment } from '../support/constants-in-environment.ts';
import { type Answered, ask } from '../support/http-client.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type Arena, type Attack, attackUntilOver } from './attack.ts';
import { type HostileAnswer, POISON, randomAnswer } from './hostile-answers.ts';
import { withVictim } from './victim.ts';

const WORKERS = 16;
const MIB = 1024 * 1024;
const TIMEOUT_MS = 1000;
/** The machines of CI are slow and busy. An answer delayed by a fault takes much longer. */
const LATEST_MS = 10 * TIMEOUT_MS;
/** For a heap of 256 MiB, the bodies that are being read, and the memory tier. */
const MOST_RSS = 700 * MIB;
const LOOK_EVERY_MS = 250;
/** In addition to the indexer's own 4xx and 5xx. */
const DOCUMENTED: readonly number[] = [200, 404, 429, 502, 503, 504];
const PATH = '/api/v3/masterchainBlockShards?seqno=';
const HIT = `${PATH}1`;
const HIT_BODY = '{"blocks":[{"workchain":-1,"shard":"8000000000000000","seqno":1}],"mine":true}';

/**
 * An indexer that answers in every wrong way. Clients get an answer with a documented status in time, and hits go on.
 */
export const upstreamAnswers: Attack = { name: 'hostile upstream answers', run };

async function run(arena: Arena): Promise<void> {
  const { tally, random } = arena;
  const answers = new Map<string, HostileAnswer>();
  await using upstream = await startScriptedUpstream((socket, head) => {
    const seqno = /seqno=(\d+)/.exec(head)?.[1] ?? '';
    const hostile = answers.get(seqno);
    if (hostile !== undefined) void write(socket, hostile);
    else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${HIT_BODY.length}\r\n\r\n${HIT_BODY}`);
  });
  const env = {
    UPSTREAM_URL: upstream.url,
    UPSTREAM_TIMEOUT: `${TIMEOUT_MS}ms`,
    ...constantsInEnvironment({ breaker: { minimumThroughput: 100_000 } }, '--max-old-space-size=256'),
  };
  // toncache would grant a pause to a hostile indexer, or open its circuit breaker. Here either would only end the
  // attack.
  const config = { upstream: { defaultPause: '1ms', maxPause: '1ms' } };
  await withVictim(arena, { env, config }, async (proxy) => {
    await ask(proxy.url, HIT);
    let mostRss = 0;
    let seqno = 1000;
    await attackUntilOver(arena, WORKERS + 2, async (worker) => {
      if (worker === 0) return await askForHit(arena, proxy);
      if (worker === 1) {
        mostRss = Math.max(mostRss, await proxy.metric('process_resident_memory_bytes'));
        await setTimeout(LOOK_EVERY_MS);
        return;
      }
      const key = String(seqno++);
      const hostile = randomAnswer(random);
      answers.set(key, hostile);
      await askForHostile(arena, proxy, key, hostile);
      answers.delete(key);
    });
    tally.count('MiB of RSS at most', Math.round(mostRss / MIB));
    if (mostRss > MOST_RSS) tally.violation('too much memory', `${Math.round(mostRss / MIB)} MiB`);
  });
}

async function write(socket: Socket, { parts, pauseMs = 0, ending }: HostileAnswer): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    if (pauseMs > 0) await setTimeout(pauseMs);
    socket.write(part, 'latin1');
  }
  if (ending === 'close') socket.end();
  else if (ending === 'reset') socket.end(() => socket.resetAndDestroy());
}

async function askForHit({ tally }: Arena, { url }: ProxyProcess): Promise<void> {
  const { status, text, headers } = await ask(url, HIT);
  tally.count('hits meanwhile');
  const isHit = String(headers['cache-status']).includes('hit');
  if (status !== 200 || text !== HIT_BODY || !isHit) tally.violation('a wrong hit', `${status} ${text}`);
  // Hits are checked now and then, so that they do not keep the process busy.
  await setTimeout(5);
}

async function askForHostile(
  { tally }: Arena,
  { url }: ProxyProcess,
  key: string,
  hostile: HostileAnswer,
): Promise<void> {
  const askedAt = performance.now();
  const answered = await ask(url, PATH + key).catch((error: unknown) => `${error}`);
  const tookMs = performance.now() - askedAt;
  tally.count('hostile answers');
  const problem = typeof answered === 'string' ? answered : problemOf(answered, hostile);
  if (typeof answered !== 'string')
    tally.count(`of status ${DOCUMENTED.includes(answered.status) ? answered.status : 'other'}`);
  const written = hostile.parts.map((part) => JSON.stringify(part.toString('latin1').slice(0, 300))).slice(0, 5);
  const reproduction = `${written.join('\n')}\nthen: ${hostile.ending}`;
  if (problem !== undefined) tally.violation(`${hostile.name}: ${problem}`, reproduction);
  if (tookMs > LATEST_MS) tally.violation(`${hostile.name}: overdue`, `${Math.round(tookMs)} ms\n${reproduction}`);
}

function problemOf({ status, text, headers }: Answered, { parts }: HostileAnswer): string | undefined {
  if (text.includes(POISON)) return 'a second answer was sent';
  if (String(headers['cache-status']).includes('detail=internal')) return 'an internal error';
  const isTheirs = status >= 400 && parts.some((part) => part.toString('latin1').startsWith(`HTTP/1.1 ${status} `));
  if (!DOCUMENTED.includes(status) && !isTheirs) return `status ${status}`;
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? undefined : 'a body that is not an object';
  } catch {
    return 'a body that is not JSON';
  }
}
