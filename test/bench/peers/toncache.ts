import { readFile, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import type { Peer, PeerSetting } from './peer.ts';
import { freePort, PinnedProcess } from './pinned-process.ts';

/** With these, every hit asks Redis, with a budget that is never exceeded: memory holds next to nothing. */
const REDIS_SETTINGS = { redis: { budget: '1s' }, memory: { maxEntries: 1 } };

/** How one toncache is started. */
export interface ToncacheSetting extends PeerSetting {
  readonly name?: string;
  /** A folder with toncache in it. */
  readonly source: string;
  /** When given, every hit asks this Redis. Otherwise toncache runs with its defaults. */
  readonly redisUrl?: string;
  /** Settings that differ from the defaults. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The name in the tables: with the folder's when several are compared. */
export function nameOfToncache(source: string, all: readonly string[]): string {
  return all.length === 1 ? 'toncache' : `toncache ${basename(resolve(source))}`;
}

/** Starts toncache by the command of `npm start`. Rejects with its log when it does not start. */
export async function startToncachePeer(setting: ToncacheSetting): Promise<Peer> {
  const { name = 'toncache', source, cores, indexerPort, folder, redisUrl, environment } = setting;
  const port = await freePort();
  const configFile = join(folder, 'config.json');
  if (redisUrl !== undefined) await writeFile(configFile, JSON.stringify(REDIS_SETTINGS));
  const { scripts } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'));
  const started = await PinnedProcess.start({
    cores,
    program: 'sh',
    args: ['-c', scripts.start],
    cwd: resolve(source),
    environment: {
      PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
      UPSTREAM_URL: `http://127.0.0.1:${indexerPort}`,
      PORT: String(port),
      ADMIN_PORT: '0',
      ...(redisUrl && { REDIS_URL: redisUrl, NETWORK: 'bench', CONFIG_FILE: configFile }),
      ...environment,
    },
    port,
    logFile: join(folder, 'toncache.log'),
  });
  return {
    name,
    pid: started.pid,
    missPrefix: '',
    originFor: ({ kind }) => ((kind === 'redis') === (redisUrl !== undefined) ? `http://127.0.0.1:${port}` : undefined),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
