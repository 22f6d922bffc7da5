import type { Settings } from '../config/schema.ts';
import { ProxyError } from '../errors.ts';
import { UpstreamClient } from '../indexer/upstream-client.ts';
import { isObject } from '../json-object.ts';
import { duration } from '../operate/text-table.ts';
import { socketOpener } from '../push/socket.ts';
import { reasonOf } from '../reason-of.ts';
import { readServerTime } from '../redis/ask-server.ts';
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

/** Tries the indexers with their keys and their chain, Redis and its clock, and the stream. Never rejects. */
export async function connectChecks(settings: Settings): Promise<ConnectCheck[]> {
  const { upstream, redis, stream } = settings;
  const { backup } = upstream;
  const checks = [
    ...upstream.url.map((url) => checkIndexer(settings, url, upstream.apiKey)),
    ...(backup.url ?? []).map((url) => checkIndexer(settings, url, backup.apiKey)),
  ];
  if (redis.url !== undefined) checks.push(checkRedis(settings, redis.url));
  if (stream.url !== undefined) checks.push(checkStream(settings, stream.url));
  return Promise.all(checks);
}

async function checkIndexer(
  { upstream, network }: Settings,
  url: string,
  apiKey: string | undefined,
): Promise<ConnectCheck> {
  const check = (found: string, isWrong: boolean) => ({ service: `indexer ${new URL(url).host}`, found, isWrong });
  const client = new UpstreamClient({
    now: Date.now,
    baseUrl: new URL(url),
    apiKey,
    timeoutMs: upstream.timeout,
    maxConnections: 1,
    maxForwardConnections: 1,
    maxBodyBytes: upstream.maxBodySize,
    keepAliveMs: 1000,
    connectionLifetimeMs: 1000,
    report: () => {},
  });
  try {
    const { status, body } = await client.fetch({ operation: 'masterchainInfo', query: [], headers: [] });
    if (status === 401 || status === 403) return check(`refuses the API key (${status})`, true);
    if (status !== 200) return check(`answers masterchainInfo with ${status}`, true);
    const { seqno, at } = headIn(body);
    if (seqno === undefined) return check('does not answer as an indexer: is the address right?', true);
    const globalId = globalIdIn(body);
    const expected = GLOBAL_IDS[network];
    if (expected !== undefined && globalId !== undefined && globalId !== expected) {
      return check(`follows another chain than NETWORK=${network} (global_id ${globalId}, not ${expected})`, true);
    }
    const age = at === undefined ? '' : `, ${duration(Math.max(0, Date.now() - at))} old`;
    return check(`answers; newest masterchain block ${seqno}${age}`, false);
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    return check([error.message, reasonOf(error.cause)].filter(Boolean).join(': '), true);
  } finally {
    await client.close();
  }
}

function globalIdIn(body: Buffer): unknown {
  const parsed: unknown = JSON.parse(body.toString('utf8'));
  const last = isObject(parsed) ? parsed['last'] : undefined;
  return isObject(last) ? last['global_id'] : undefined;
}

async function checkRedis({ redis }: Settings, url: string): Promise<ConnectCheck> {
  const check = (found: string, isWrong: boolean) => ({ service: 'Redis', found, isWrong });
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
    if (reason !== '') return check(`cannot be reached: ${reason}`, true);
    const time = await readServerTime(connection, 'toncache:{check}');
    if (time === undefined) return check('does not tell its time', true);
    const aheadMs = time - Date.now();
    const isOff = Math.abs(aheadMs) > WORTH_A_LOOK_MS;
    const clock = isOff
      ? `its clock is ${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`
      : 'same time';
    return check(`answers; ${clock}`, false);
  } catch (error) {
    return check(`refuses a script: ${error instanceof Error ? error.message : error}`, true);
  } finally {
    await connection.close();
  }
}

function checkStream({ stream, upstream }: Settings, url: string): Promise<ConnectCheck> {
  const service = `stream ${new URL(url).host}`;
  return new Promise((resolve) => {
    const socket = socketOpener(
      url,
      stream.apiKey,
      upstream.timeout,
    )({
      onOpen: () => {
        socket.close();
        resolve({ service, found: 'answers', isWrong: false });
      },
      onMessage: () => {},
      onClose: (reason) => resolve({ service, found: `cannot be reached: ${reason}`, isWrong: true }),
    });
  });
}
