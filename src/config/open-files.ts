import { readFileSync } from 'node:fs';
import { parseRedisUrl } from '../redis-url.ts';
import type { Settings } from './schema.ts';

/** Descriptors of all that is not counted: listening ports, event loops of threads, log, look-ups of names, files. */
const OTHERS = 64;

/** Connections to the admin port: probes, Prometheus, status pages. */
const ADMIN = 32;

/** Connections to Redis, by its topology. How many nodes a Cluster has is not in the settings. */
const REDIS = { server: 1, sentinel: 2, cluster: 32 };

/** So many clients are let in whatever the limit is: below it, toncache is of no use to anybody. */
const FEWEST_CLIENTS = 64;

/** How many connections of clients are let in, and why so many. */
export interface ClientRoom {
  readonly maxConnections: number;
  /** What an operator should know; absent where there is room for `http.maxConnections`. */
  readonly warning?: string;
}

/** The sizes of the two pools of connections to one indexer. */
export function poolsOf({ passThrough }: Settings, maxConcurrency: number) {
  return {
    // One for each slot, and one for the question for the head, which takes none.
    maxConnections: maxConcurrency + 1,
    maxForwardConnections: passThrough.maxConcurrency + passThrough.maxTransfers,
  };
}

/**
 * The most files that this process may have open, connections included; `undefined` where the system does not say it. Node
 * has raised it to the hard limit at its start.
 */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/**
 * The room for connections of clients within a limit of open files: what the pools of the indexers, Redis, the streams and
 * the admin port leave. Otherwise idle clients take all descriptors, and no indexer can be reached.
 */
export function clientRoom(settings: Settings, openFiles: number | undefined): ClientRoom {
  const { maxConnections: most } = settings.http;
  const room = Math.max(FEWEST_CLIENTS, (openFiles ?? Number.POSITIVE_INFINITY) - othersThanClients(settings));
  if (room >= most) return { maxConnections: most };
  const need = most + othersThanClients(settings);
  const warning = `the limit of open files (${openFiles}) has room for ${room} connections of clients, not for ${most} (http.maxConnections): raise it to ${need} (ulimit -n, LimitNOFILE, nofile of the container)`;
  return { maxConnections: room, warning };
}

function othersThanClients(settings: Settings): number {
  const { upstream, passThrough, redis, stream } = settings;
  const { url, backup } = upstream;
  const slots = [...url.map(() => upstream.maxConcurrency), ...(backup.url ?? []).map(() => backup.maxConcurrency)];
  const pools = slots.reduce((sum, maxConcurrency) => {
    const { maxConnections, maxForwardConnections } = poolsOf(settings, maxConcurrency);
    return sum + maxConnections + (passThrough.enabled ? maxForwardConnections : 0);
  }, 0);
  const toRedis = redis.url === undefined ? 0 : REDIS[parseRedisUrl(redis.url).topology];
  // Each stream of a client has a connection on either side: that of the client is one of its connections.
  const toStream = Number(stream.url !== undefined) + (passThrough.enabled ? passThrough.maxStreams : 0);
  return pools + toRedis + toStream + ADMIN + OTHERS;
}
