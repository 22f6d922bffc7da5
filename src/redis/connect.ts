import { Cluster, type Redis } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from '../redis-url.ts';
import { type EvictionProblem, reportEviction } from './ask-server.ts';
import { ChannelListener } from './channel-listener.ts';
import { openClient, openSingle } from './open-client.ts';
import { runScript } from './run-script.ts';
import { type RedisTransition, reportTransitions } from './transitions.ts';

/** Reads. Every call settles within the command timeout, and at once while there is no connection. */
export interface RedisConnection {
  /** The bytes under a key: a slice of a read chunk, to be copied before it is kept. */
  getBuffer(key: string): Promise<Buffer | undefined>;
  /** The first `length` bytes under a key, or all where there are fewer; none where there is no such key. As `getBuffer`. */
  getStart(key: string, length: number): Promise<Buffer>;
  /** Ends all connections for good; calls still unanswered are rejected. */
  close(): Promise<void>;
}

/** Scripts; a call settles as those of {@link RedisConnection} do. */
export interface RedisScripting {
  /**
   * Runs Lua code of this program and resolves with what it returns: strings as Buffers, numbers as numbers, lists as
   * arrays of them, nil as null. All keys must lie in one slot.
   */
  runScript(script: string, keys: readonly string[], args: readonly (string | Buffer | number)[]): Promise<unknown>;
}

/** Messages from other instances, on a connection of its own. */
export interface RedisListening {
  /**
   * Calls back with what is published on `channel`, until the connection is closed. It subscribes again whenever its
   * connection was lost; what is published while it is away is lost.
   */
  listen(channel: string, onMessage: (message: Buffer) => void): void;
}

export interface RedisReadiness {
  /** Resolves once Redis was connected, could not be, or the connect timeout passed. Never rejects. */
  ready(): Promise<void>;
}

export interface ConnectRedisDependencies {
  readonly onTransition?: (transition: RedisTransition) => void;
  /** Called at most once, after the first connect. */
  readonly onEvictionProblem?: (problem: EvictionProblem) => void;
}

export interface ConnectRedisOptions {
  /** See {@link parseRedisUrl}. */
  readonly url: string;
  /** PEM of the authorities that a server's certificate is held against; the system's when undefined. */
  readonly tlsCa?: string | undefined;
  readonly connectTimeoutMs: number;
  /** A call unanswered for this long is rejected, and a connection silent for this long under a call is replaced. */
  readonly commandTimeoutMs: number;
}

/** Whatever Redis runs as: one server, a Cluster, or a primary that sentinels know. */
export type ConnectedRedis = RedisConnection & RedisScripting & RedisListening & RedisReadiness;

/**
 * Starts connecting and returns at once; connects again, for ever, whenever the connection is lost. Nothing is queued
 * while there is none and nothing is sent twice. Throws only for an invalid URL.
 */
export function connectRedis(
  options: ConnectRedisOptions,
  dependencies: ConnectRedisDependencies = {},
): ConnectedRedis {
  const { onTransition, onEvictionProblem } = dependencies;
  const { tlsCa, connectTimeoutMs, commandTimeoutMs } = options;
  const address = parseRedisUrl(options.url);
  const how = { address, tlsCa, connectTimeoutMs, commandTimeoutMs };
  const client = openClient(how);
  const listener = new ChannelListener(() => openSingle(how, client instanceof Cluster ? client : undefined));
  const begun = Promise.withResolvers<void>();
  const patience = setTimeout(begun.resolve, connectTimeoutMs);
  reportTransitions(client, secretsOf(address), (transition) => {
    clearTimeout(patience);
    begun.resolve();
    onTransition?.(transition);
  });
  if (onEvictionProblem) client.once('ready', () => void reportEviction(client, onEvictionProblem));

  return {
    getBuffer: async (key) => {
      const bytes: unknown = await connected(client, () => client.getBuffer(key));
      if (bytes !== null && !Buffer.isBuffer(bytes)) throw new Error('Redis gave no answer to GET');
      return bytes ?? undefined;
    },
    getStart: async (key, length) => {
      const bytes: unknown = await connected(client, () => client.getrangeBuffer(key, 0, length - 1));
      if (!Buffer.isBuffer(bytes)) throw new Error('Redis gave no answer to GETRANGE');
      return bytes;
    },
    runScript: (script, keys, args) => connected(client, () => runScript(client, script, keys, args)),
    listen: (channel, onMessage) => listener.listen(channel, onMessage),
    ready: () => begun.promise,
    close: async () => {
      clearTimeout(patience);
      begun.resolve();
      listener.close();
      await ended(client, commandTimeoutMs);
    },
  };
}

function secretsOf(address: RedisAddress): string[] {
  const ofSentinels = address.topology === 'sentinel' ? address.sentinelCredentials.password : undefined;
  return [address.password, ofSentinels].filter((secret) => secret !== undefined && secret !== '') as string[];
}

/** Messages of ioredis about a connection that was lost, or was not there. */
const LOST = /^(Connection is closed|Cluster isn't ready|Cluster is ended|Stream isn't writeable)/;

/** A node of a Cluster is away: keys of its slots cannot be had, and all others can. */
export class NodeLost extends Error {
  override readonly name = 'NodeLost';

  constructor() {
    super('a node of the Cluster is away');
  }
}

/** Runs a command. A lost connection is reported in plain words: those of ioredis are about its own options. */
async function connected<T>(client: Redis | Cluster, command: () => Promise<T>): Promise<T> {
  if (client.status !== 'ready') throw new Error('not connected to Redis');
  try {
    return await command();
  } catch (error) {
    const lost = error instanceof Error && (error.name === 'MaxRetriesPerRequestError' || LOST.test(error.message));
    // Without the cause, which holds the command with all its arguments.
    if (lost) throw client instanceof Cluster ? new NodeLost() : new Error('the connection to Redis was lost');
    throw error;
  }
}

function ended(client: Redis | Cluster, atMostMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Between two attempts to connect there is no socket, and so no `end` event.
  if (['connecting', 'connect', 'ready'].includes(client.status)) {
    client.once('end', resolve);
    // Nor is there one while it looks for a primary through sentinels.
    setTimeout(resolve, atMostMs).unref();
  } else resolve();
  client.disconnect();
  return promise;
}
