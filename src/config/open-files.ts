import { readFileSync } from 'node:fs';
import { parseRedisUrl } from '../redis/redis-url.ts';
import { passesStreams } from './passed-paths.ts';
import type { Settings } from './schema.ts';

/**
 * Descriptors of everything that is not counted: listening ports, event loops of threads, log, look-ups of names,
 * files.
 */
const OTHERS = 64;

/** Connections to the admin port: probes, Prometheus, status pages. */
const ADMIN = 32;

/** Connections to Redis, by its topology. The settings do not contain the number of nodes of a Cluster. */
const REDIS = { server: 1, sentinel: 2, cluster: 32 };

/** This many clients are accepted whatever the limit: below it, toncache is of no use to anybody. */
const FEWEST_CLIENTS = 64;

/**
 * The maximum number of passed-through answers on their way to clients. A slot is free once an answer begins, so slow
 * clients hold only these: each is a connection to the indexer, and part of the limit of open files.
 */
export const MAX_TRANSFERS = 256;

/** The number of client connections that are accepted, and the reason. */
export interface ClientRoom {
  readonly maxConnections: number;
  /** A note for the operator; absent if there is room for `http.maxConnections`. */
  readonly warning?: string;
}

/** The sizes of the two pools of connections to one indexer. */
export function poolsOf({ passThrough }: Settings, maxConcurrency: number) {
  return {
    // One for each slot, and one for the head poll, which takes no slot.
    maxConnections: maxConcurrency + 1,
    maxForwardConnections: passThrough.maxConcurrency + MAX_TRANSFERS,
  };
}

/**
 * The maximum number of files that this process may have open, connections included; `undefined` if the system does not
 * report it. Node has raised it to the hard limit at its start.
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
 * The room for client connections within a limit of open files: the rest after the pools of the indexers, Redis, the
 * streams and the admin port. Otherwise idle clients would take all descriptors, and no indexer could be reached.
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
  const { upstream, passThrough, redis } = settings;
  const { url, backup } = upstream;
  const slots = [...url.map(() => upstream.maxConcurrency), ...(backup.url ?? []).map(() => backup.maxConcurrency)];
  const pools = slots.reduce((sum, maxConcurrency) => {
    const { maxConnections, maxForwardConnections } = poolsOf(settings, maxConcurrency);
    return sum + maxConnections + (passThrough.enabled ? maxForwardConnections : 0);
  }, 0);
  const toRedis = redis.url === undefined ? 0 : REDIS[parseRedisUrl(redis.url).topology];
  // Each stream of a client has two connections: the client's is one of the client connections.
  const toStreams = passesStreams(passThrough.enabled) ? passThrough.maxStreams : 0;
  return pools + toRedis + toStreams + ADMIN + OTHERS;
}
