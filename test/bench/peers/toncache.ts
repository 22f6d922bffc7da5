import { readFile, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { type RedisKind, redisKind } from './cases.ts';
import type { Peer, PeerSetting } from './peer.ts';
import { freePort, PinnedProcess } from './pinned-process.ts';

/** Settings by which every hit asks Redis, with a budget that is never exceeded: memory holds next to nothing, or is not trusted. */
const REDIS_SETTINGS: Record<RedisKind, object> = {
  redis: { redis: { budget: '1s' }, memory: { maxEntries: 1 } },
  confirmed: {
    redis: { budget: '1s' },
    lifetimes: { adjacentGrowing: { memoryTtl: '0ms' }, shardsFinal: { memoryTtl: '0ms' } },
  },
};

/** How one toncache is started. */
export interface ToncacheSetting extends Omit<PeerSetting, 'program'> {
  readonly name: string;
  /** A folder with toncache in it, or a command. */
  readonly source: string;
  /** When given, every hit asks this Redis. Otherwise toncache runs with its defaults. */
  readonly redis?: { readonly kind: RedisKind; readonly url: string };
  /** Settings that differ from the defaults. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The name in the tables: with the folder's when several are compared. */
export function nameOfToncache(source: string, all: readonly string[]): string {
  return all.length === 1 ? 'toncache' : `toncache ${basename(resolve(source)) || source}`;
}

/** Starts toncache by the command of `npm start`, or by the given one. Rejects with its log when it does not start. */
export async function startToncachePeer(setting: ToncacheSetting): Promise<Peer> {
  const { name, source, cores, indexerPort, folder, redis, environment } = setting;
  const port = await freePort();
  const configFile = join(folder, 'config.json');
  if (redis !== undefined) await writeFile(configFile, JSON.stringify(REDIS_SETTINGS[redis.kind]));
  const { cwd, command } = await commandOf(source);
  const started = await PinnedProcess.start({
    cores,
    program: 'sh',
    args: ['-c', `exec ${command}`],
    cwd,
    environment: {
      PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
      UPSTREAM_URL: `http://127.0.0.1:${indexerPort}`,
      PORT: String(port),
      ADMIN_PORT: '0',
      ...(redis && { REDIS_URL: redis.url, NETWORK: 'bench', CONFIG_FILE: configFile }),
      ...environment,
    },
    port,
    logFile: join(folder, 'toncache.log'),
  });
  return {
    name,
    pid: started.pid,
    placeOf: ({ kind }) =>
      redisKind(kind) === redis?.kind ? { origin: `http://127.0.0.1:${port}`, missPrefix: '' } : undefined,
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

async function commandOf(source: string): Promise<{ cwd: string; command: string }> {
  const manifest = await readFile(join(source, 'package.json'), 'utf8').catch(() => undefined);
  if (manifest === undefined) return { cwd: process.cwd(), command: source };
  const start: unknown = JSON.parse(manifest).scripts?.start;
  if (typeof start !== 'string') throw new Error(`package.json in ${source} has no "start" script`);
  return { cwd: resolve(source), command: start.replace(/^exec /, '') };
}
