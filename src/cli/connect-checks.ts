import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request, WebSocket } from 'undici';
import { banKeysOf, checkedKey } from '../cache/redis-keys.ts';
import { tryRedis } from '../cache/redis-trial.ts';
import type { Settings } from '../config/schema.ts';
import { blockQuestion, showsBlock } from '../indexer/head-poll.ts';
import { connectorBy } from '../names/connector.ts';
import { systemNames } from '../names/names.ts';
import { exchangeBans } from '../purge/exchange-bans.ts';
import { reasonOf } from '../reason-of.ts';
import { connectRedis } from '../redis/connect.ts';
import { CONNECT_TIMEOUT_MS } from '../redis/timeouts.ts';
import { betterReason } from '../tell/best-reason.ts';
import { duration, type Ms } from '../time-units.ts';
import { type ChainHead, GLOBAL_IDS, headIn } from '../ton/chain-point.ts';
import { shorterHistories, shorterHistoryText } from '../ton/histories.ts';
import { notServedText, saysNotServed } from '../ton/not-served.ts';
import type { OperationName } from '../ton/operation-names.ts';
import { OperationsInUse, targetOf } from '../ton/operations.ts';
import { parseAnswer } from '../ton/parse-answer.ts';
import { withTlsAdvice } from './tls-advice.ts';

/** The result of the check of one service that toncache uses. */
export interface ConnectCheck {
  readonly service: string;
  readonly found: string;
  /** True if toncache cannot use it in this state. */
  readonly isWrong: boolean;
  /** True if toncache must not be started: the service is not just away, or it is an indexer and no other is usable. */
  readonly isFatal: boolean;
  /** True if it can be used, but lacks something that clients may request. */
  readonly isLacking?: true;
}

/** Nothing shows that the settings are wrong: the service does not answer, or reports that it is temporarily unable. */
class Away extends Error {}

/** Redis' answers if the password, the rights, the topology or the name of the primary differ from the settings. */
const REDIS_REFUSES =
  /^(?:NOAUTH|WRONGPASS|NOPERM|DENIED|MOVED|ERR(?! max number of clients))\b|No such master|node of a Cluster/;

/** The newest named block of an indexer may become visible this much later; it is requested this often. */
const [BLOCK_WITHIN_MS, ASK_AGAIN_MS] = [3000, 500];

/** This many blocks may appear between the answers of the first and the last indexer. */
const LAG_OF_ASKING = 25;

/** A clock with a larger difference is worth a look; entries are still dated correctly. */
const WORTH_A_LOOK_MS = 1000;

const names = systemNames();

/** Tries the indexers with their keys and their chain, Redis and its clock, and the stream. Never rejects. */
export async function connectChecks(settings: Settings): Promise<ConnectCheck[]> {
  const { upstream, redis, stream } = settings;
  const { backup } = upstream;
  /** By address, for all but backups. */
  const heads = new Map<string, ChainHead>();
  const indexer = async (url: string, apiKey: string | undefined, isBackup = false) => {
    const service = serviceOf(url);
    const onHead = (head: ChainHead) => void (isBackup || heads.set(url, head));
    const found = await check(service, () => askIndexer(settings, url, apiKey, onHead));
    const lacks = found.isWrong ? [] : await operationsNotServed(settings, url, apiKey);
    return { found, lacks: lacks.map((lack) => lacking(service, notServedText(lack))) };
  };
  const indexers = [
    ...upstream.url.map((url) => indexer(url, upstream.apiKey)),
    ...(backup.url ?? []).map((url) => indexer(url, backup.apiKey, true)),
  ];
  const others: Promise<ConnectCheck>[] = [];
  const [redisUrl, streamUrl] = [redis.url, stream.url];
  if (redisUrl !== undefined) others.push(check('Redis', () => askRedis(settings, redisUrl)));
  if (streamUrl !== undefined) {
    others.push(check(`stream ${new URL(streamUrl).host}`, () => openStream(settings, streamUrl)));
  }
  const ofIndexers = await Promise.all(indexers);
  const firstBlocks = [...heads].flatMap(([url, { first }]) => (first > 0 ? [[url, first] as const] : []));
  const shorter = [...shorterHistories(new Map(firstBlocks))].map(([url, first]) =>
    lacking(serviceOf(url), shorterHistoryText(new URL(url).host, first)),
  );
  const isNoneUsable = ofIndexers.every(({ found }) => found.isWrong);
  return [
    ...ofIndexers.flatMap(({ found, lacks }) => [{ ...found, isFatal: found.isFatal || isNoneUsable }, ...lacks]),
    ...shorter,
    ...behind(heads, upstream.maxLag),
    ...(await Promise.all(others)),
  ];
}

/** The indexers whose newest blocks are too old for use, although they answer. */
function behind(heads: ReadonlyMap<string, ChainHead>, maxLag: number): ConnectCheck[] {
  const newest = Math.max(...[...heads.values()].map(({ seqno }) => seqno));
  return [...heads].flatMap(([url, { seqno }]) => {
    const lag = newest - seqno;
    // They do not answer at the same instant.
    return lag <= maxLag + LAG_OF_ASKING
      ? []
      : lacking(
          serviceOf(url),
          `is ${lag} blocks behind the newest of the others: it is used when no other can answer`,
        );
  });
}

const serviceOf = (url: string) => `indexer ${new URL(url).host}`;

function lacking(service: string, found: string): ConnectCheck {
  return { service, found, isWrong: false, isFatal: false, isLacking: true };
}

/** `ask` resolves with a description, and rejects with the problem. */
async function check(service: string, ask: () => Promise<string>): Promise<ConnectCheck> {
  try {
    return { service, found: await ask(), isWrong: false, isFatal: false };
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    const found = withTlsAdvice([message, reasonOf(cause)].filter(Boolean).join(': '));
    return { service, found, isWrong: true, isFatal: !(error instanceof Away) };
  }
}

/** For checks that fail only if a service is away; `withinMs` is the length of the wait. */
function awayWithin(withinMs: Ms): (error: Error) => never {
  return ({ name, message, cause }) => {
    throw name === 'TimeoutError'
      ? new Away(`does not answer within ${duration(withinMs)}`)
      : new Away(message, { cause });
  };
}

/** `onHead` is called with the head of a usable indexer. */
async function askIndexer(
  { upstream, network }: Settings,
  url: string,
  apiKey: string | undefined,
  onHead: (head: ChainHead) => void,
): Promise<string> {
  const dispatcher = new Agent({ connect: connectorBy(names, upstream.timeout) });
  const away = awayWithin(upstream.timeout);
  const ask = async (target: string) => {
    const { statusCode: status, body } = await request(url + target, {
      dispatcher,
      ...(apiKey !== undefined && { headers: { 'X-Api-Key': apiKey } }),
      signal: AbortSignal.timeout(upstream.timeout),
    }).catch(away);
    return { status, body: Buffer.from(await body.arrayBuffer().catch(away)) };
  };
  const { status, body } = await ask(targetOf('masterchainInfo', []));
  if (status === 401 || status === 403) throw new Error(`refuses the API key (${status})`);
  if (status >= 500 || status === 429) throw new Away(`answers masterchainInfo with ${status}`);
  if (status !== 200) throw new Error(`answers masterchainInfo with ${status}`);
  const head = headIn(body);
  const { seqno, at, globalId } = head;
  if (seqno < 0) throw new Error('does not answer as an indexer: is the address right?');
  const expected = GLOBAL_IDS[network];
  if (expected !== undefined && globalId !== undefined && globalId !== expected) {
    throw new Error(`follows another chain than NETWORK=${network} (global_id ${globalId}, not ${expected})`);
  }
  const { operation, query } = blockQuestion(seqno);
  const hasBlock = async () => showsBlock(await ask(targetOf(operation, query)), seqno);
  for (let remainingMs = BLOCK_WITHIN_MS; (await hasBlock()) === false; remainingMs -= ASK_AGAIN_MS) {
    if (remainingMs <= 0) throw new Error(`does not have block ${seqno}, which it names as its newest`);
    await sleep(ASK_AGAIN_MS);
  }
  onHead(head);
  const age = at === 0 ? '' : `, ${duration(Math.max(0, Date.now() - at))} old`;
  return `answers; newest masterchain block ${seqno}${age}`;
}

/** The operations that an indexer reports as not served. An operation without an answer does not count as missing. */
async function operationsNotServed({ upstream, operations }: Settings, url: string, apiKey: string | undefined) {
  const dispatcher = new Agent({ connect: connectorBy(names, upstream.timeout) });
  const used = new OperationsInUse(operations);
  const asked = used.names.map(async (operation): Promise<OperationName[]> => {
    const { statusCode, body } = await request(url + targetOf(operation, used.named(operation)?.cheapQuery ?? []), {
      dispatcher,
      ...(apiKey !== undefined && { headers: { 'X-Api-Key': apiKey } }),
      signal: AbortSignal.timeout(upstream.timeout),
    });
    const answer = parseAnswer(Buffer.from(await body.arrayBuffer()));
    return statusCode === 501 || (statusCode === 500 && saysNotServed(operation, answer)) ? [operation] : [];
  });
  const settled = await Promise.allSettled(asked);
  return settled.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}

async function askRedis({ redis, network }: Settings, url: string): Promise<string> {
  let reason = 'no answer';
  let best = '';
  const connection = connectRedis({
    names,
    url,
    tlsCa: redis.tlsCaFile,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    commandTimeoutMs: CONNECT_TIMEOUT_MS,
    tryOut: (connected) => tryRedis(connected, checkedKey),
    onTransition: (transition) => {
      reason = transition.state === 'connected' ? '' : transition.reason;
    },
    onReason: (seen) => {
      best = betterReason(best, seen);
    },
  });
  try {
    await connection.ready();
    if (reason !== '') throw redisError(betterReason(best, reason));
    // A Redis that cannot be written to counts as connected, because it still answers reads: a read-only replica, or a
    // full Redis. So the trial is repeated here.
    const refused = (error: Error) => Promise.reject(redisError(reasonOf(error) ?? 'Redis failed'));
    await tryRedis(connection, checkedKey).catch(refused);
    const bans = { keys: banKeysOf(network), keptMs: Number.MAX_SAFE_INTEGER, instance: '' };
    const { now, failure } = await exchangeBans(connection.runScript, bans, 'known', '', []).catch(refused);
    if (failure !== undefined) throw new Error(`cannot be used for purges: ${failure}`);
    const aheadMs = now - Date.now();
    if (Math.abs(aheadMs) <= WORTH_A_LOOK_MS) return 'answers; same time';
    return `answers; its clock is ${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
  } finally {
    await connection.close();
  }
}

function redisError(reason: string): Error {
  return REDIS_REFUSES.test(reason) ? new Error(`cannot be used: ${reason}`) : new Away(`cannot be reached: ${reason}`);
}

function openStream({ stream, upstream }: Settings, url: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const { timeout } = upstream;
  const dispatcher = new Agent({ connect: connectorBy(names, timeout), allowH2: false, headersTimeout: timeout });
  const headers = stream.apiKey === undefined ? {} : { 'X-API-Key': stream.apiKey };
  const socket = new WebSocket(url, { dispatcher, headers });
  socket.addEventListener('open', () => resolve('answers'));
  // A refused key looks the same, and for a refused connection undici gives no reason. All requests are still answered.
  socket.addEventListener('error', ({ message, error }) =>
    reject(new Away(`cannot be reached: ${reasonOf(error) ?? (message || 'it could not be opened')}`)),
  );
  return promise.finally(() => {
    socket.close();
    dispatcher.destroy().catch(() => {});
  });
}
