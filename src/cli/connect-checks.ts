import { request } from 'undici';
import type { Settings } from '../config/schema.ts';
import { duration } from '../operate/text-table.ts';
import { socketOpener } from '../push/socket.ts';
import { reasonOf } from '../reason-of.ts';
import { connectRedis } from '../redis/connect.ts';
import { headIn } from '../ton/chain-point.ts';

/** What was found of one service that toncache uses. */
export interface ConnectCheck {
  readonly service: string;
  readonly found: string;
  /** Whether toncache cannot use it so. */
  readonly isWrong: boolean;
}

/** The `global_id` of the blocks of the networks that have names. */
const GLOBAL_IDS: Readonly<Record<string, number>> = { mainnet: -239, testnet: -3 };

/** A clock that is further off is worth a look; entries are dated right all the same. */
const WORTH_A_LOOK_MS = 1000;

/** Redis' time, epoch milliseconds. */
const TIME = `local time = redis.call('TIME') return time[1] * 1000 + math.floor(time[2] / 1000)`;

/** Tries the indexers with their keys and their chain, Redis and its clock, and the stream. Never rejects. */
export async function connectChecks(settings: Settings): Promise<ConnectCheck[]> {
  const { upstream, redis, stream } = settings;
  const { backup } = upstream;
  const indexer = (url: string, apiKey: string | undefined) =>
    check(`indexer ${new URL(url).host}`, () => askIndexer(settings, url, apiKey));
  const checks = [
    ...upstream.url.map((url) => indexer(url, upstream.apiKey)),
    ...(backup.url ?? []).map((url) => indexer(url, backup.apiKey)),
  ];
  const [redisUrl, streamUrl] = [redis.url, stream.url];
  if (redisUrl !== undefined) checks.push(check('Redis', () => askRedis(settings, redisUrl)));
  if (streamUrl !== undefined) {
    checks.push(check(`stream ${new URL(streamUrl).host}`, () => openStream(settings, streamUrl)));
  }
  return Promise.all(checks);
}

/** `ask` resolves with what was found, and rejects with what is wrong. */
async function check(service: string, ask: () => Promise<string>): Promise<ConnectCheck> {
  try {
    return { service, found: await ask(), isWrong: false };
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    return { service, found: [message, reasonOf(cause)].filter(Boolean).join(': '), isWrong: true };
  }
}

async function askIndexer({ upstream, network }: Settings, url: string, apiKey: string | undefined): Promise<string> {
  const { statusCode: status, body } = await request(`${url}/api/v3/masterchainInfo`, {
    ...(apiKey !== undefined && { headers: { 'X-Api-Key': apiKey } }),
    signal: AbortSignal.timeout(upstream.timeout),
  });
  const text = await body.text();
  if (status === 401 || status === 403) throw new Error(`refuses the API key (${status})`);
  if (status !== 200) throw new Error(`answers masterchainInfo with ${status}`);
  const { seqno, at } = headIn(Buffer.from(text));
  if (seqno < 0) throw new Error('does not answer as an indexer: is the address right?');
  const globalId: unknown = JSON.parse(text).last.global_id;
  const expected = GLOBAL_IDS[network];
  if (expected !== undefined && globalId !== undefined && globalId !== expected) {
    throw new Error(`follows another chain than NETWORK=${network} (global_id ${globalId}, not ${expected})`);
  }
  const age = at === 0 ? '' : `, ${duration(Math.max(0, Date.now() - at))} old`;
  return `answers; newest masterchain block ${seqno}${age}`;
}

async function askRedis({ redis }: Settings, url: string): Promise<string> {
  let reason = 'no answer';
  const connection = connectRedis({
    url,
    tlsCa: redis.tlsCaFile,
    connectTimeoutMs: redis.connectTimeout,
    commandTimeoutMs: redis.connectTimeout,
    onTransition: (transition) => {
      reason = transition.state === 'connected' ? '' : transition.reason;
    },
  });
  try {
    await connection.ready();
    if (reason !== '') throw new Error(`cannot be reached: ${reason}`);
    const reply = await connection.runScript(TIME, ['toncache:{check}'], []).catch((error: unknown) => {
      throw new Error('refuses a script', { cause: error });
    });
    const aheadMs = Number(reply) - Date.now();
    if (Number.isNaN(aheadMs)) throw new Error('does not tell its time');
    if (Math.abs(aheadMs) <= WORTH_A_LOOK_MS) return 'answers; same time';
    return `answers; its clock is ${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
  } finally {
    await connection.close();
  }
}

function openStream({ stream, upstream }: Settings, url: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const open = socketOpener(url, stream.apiKey, upstream.timeout);
  const socket = open({
    onOpen: () => {
      socket.close();
      resolve('answers');
    },
    onMessage: () => {},
    onClose: (reason) => reject(new Error(`cannot be reached: ${reason}`)),
  });
  return promise;
}
