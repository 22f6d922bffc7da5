import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Cluster, type Redis } from 'ioredis';
import { inMap } from '../in-map.ts';
import type { Ms } from '../time-units.ts';
import { type EvictionProblem, reportEviction } from './eviction.ts';
import { NodeLost } from './node-lost.ts';
import { type ClientOptions, openClient } from './open-client.ts';
import { parseRedisUrl, type RedisAddress } from './redis-url.ts';
import { type RedisTransition, reportTransitions } from './transitions.ts';

/**
 * A connection to Redis: one server, a Cluster, or a primary behind sentinels. Every call settles within the command
 * timeout, and immediately while there is no connection.
 */
export interface ConnectedRedis {
  /** The bytes under a key: a slice of a read chunk, to be copied before it is kept. */
  getBuffer(key: string): Promise<Buffer | undefined>;
  /**
   * Runs Lua code of this program and resolves with its result: strings as Buffers, numbers as numbers, lists as
   * arrays, nil as null. All keys must lie in one slot.
   */
  runScript(script: string, keys: readonly string[], args: readonly (string | Buffer | number)[]): Promise<unknown>;
  /**
   * Resolves when Redis is connected (`true`) or cannot be reached, or the connect timeout has passed (`false`). Never
   * rejects.
   */
  ready(): Promise<boolean>;
  /** Closes all connections for good; unanswered calls are rejected. */
  close(): Promise<void>;
}

export type RedisScripting = Pick<ConnectedRedis, 'runScript'>;

export interface ConnectRedisDependencies extends Omit<ClientOptions, 'address'> {
  /** See {@link parseRedisUrl}. */
  readonly url: string;
  /**
   * Uses a new connection as its user will, before it counts as connected; rejects with the error of Redis. If Redis
   * refuses a command or a key, or is a node of a Cluster, the connection stays unusable, and is tried every second.
   */
  readonly tryOut?: (redis: Pick<ConnectedRedis, 'getBuffer' | 'runScript'>) => Promise<void>;
  readonly onTransition?: (transition: RedisTransition) => void;
  /** Called with each reason for which Redis, or a node of it, cannot be used. */
  readonly onReason?: (reason: string) => void;
  /** Called at most once, after the first connect. */
  readonly onEvictionProblem?: (problem: EvictionProblem) => void;
}

/**
 * Starts connecting and returns immediately; reconnects for ever when the connection is lost. No command is queued
 * while there is no connection, and none is sent twice. Throws only for an invalid URL.
 */
export function connectRedis(dependencies: ConnectRedisDependencies): ConnectedRedis {
  const {
    connectTimeoutMs,
    commandTimeoutMs,
    tryOut,
    onTransition,
    onReason = () => {},
    onEvictionProblem,
  } = dependencies;
  const address = parseRedisUrl(dependencies.url);
  const client = openClient({ ...dependencies, address });
  const begun = Promise.withResolvers<void>();
  const patience = setTimeout(begun.resolve, connectTimeoutMs);
  const direct = {
    getBuffer: async (key: string) => (await connected(client, () => client.getBuffer(key))) ?? undefined,
    runScript: (...script: Parameters<ConnectedRedis['runScript']>) =>
      connected(client, () => runScript(client, ...script)),
  };
  let isUsable = false;
  reportTransitions({
    client,
    onReason,
    secrets: secretsOf(address),
    tryOut: async () => tryOut?.(direct),
    onTransition: (transition) => {
      isUsable = transition.state === 'connected';
      clearTimeout(patience);
      begun.resolve();
      onTransition?.(transition);
    },
  });
  if (onEvictionProblem) client.once('ready', () => void reportEviction(client, onEvictionProblem));

  return {
    getBuffer: (key) => (isUsable ? direct.getBuffer(key) : notConnected()),
    runScript: (...script) => (isUsable ? direct.runScript(...script) : notConnected()),
    ready: () => begun.promise.then(() => isUsable),
    close: async () => {
      clearTimeout(patience);
      begun.resolve();
      await ended(client, commandTimeoutMs);
    },
  };
}

function secretsOf(address: RedisAddress): string[] {
  const ofSentinels = address.topology === 'sentinel' ? address.sentinelCredentials.password : undefined;
  return [address.password, ofSentinels].filter((secret) => secret !== undefined && secret !== '') as string[];
}

async function notConnected(): Promise<never> {
  throw new Error('not connected to Redis');
}

/** Messages of ioredis about a lost or missing connection. */
const LOST = /^(Connection is closed|Cluster isn't ready|Cluster is ended|Stream isn't writeable)/;

/** Runs a command. Replaces ioredis' errors about a lost connection, which mention its own options, by plain ones. */
async function connected<T>(client: Redis | Cluster, command: () => Promise<T>): Promise<T> {
  if (client.status !== 'ready') return notConnected();
  if (!(client instanceof Cluster)) gatherCommands(client.stream);
  try {
    return await command();
  } catch (error) {
    const lost = error instanceof Error && (error.name === 'MaxRetriesPerRequestError' || LOST.test(error.message));
    // If the reply never comes, ioredis would take the next one for it.
    if (!(client instanceof Cluster) && error instanceof Error && error.message === 'Command timed out') {
      client.stream.destroy(new Error('a command was not answered in time'));
    }
    // The cause is left out: it contains the command with all its arguments.
    if (lost)
      throw client instanceof Cluster
        ? new NodeLost('a node of the Cluster is away')
        : new Error('the connection to Redis was lost');
    throw error;
  }
}

function ended(client: Redis | Cluster, atMostMs: Ms): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Between two attempts to connect there is no socket, and so no `end` event.
  if (['connecting', 'connect', 'ready'].includes(client.status)) {
    client.once('end', resolve);
    // There is no `end` event either while it asks sentinels for the primary.
    setTimeout(resolve, atMostMs).unref();
  } else resolve();
  client.disconnect();
  return promise;
}

/**
 * Sends all commands of one tick of the event loop in one write. Call it before each command. ioredis writes each
 * command by itself, and the write is the most expensive part of a small one: with 32 concurrent requests, a hit of 2
 * KB in Redis alone takes 45 us of CPU instead of 51 (measured). The auto-pipelining of ioredis has the same effect,
 * but costs more than it saves.
 */
function gatherCommands(socket: Socket): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}

const digests = new Map<string, string>();
const digestOf = (script: string) => hash('sha1', script);

/**
 * Runs Lua code by its digest, and sends the code itself if the server does not know it. The number of remembered
 * digests stays small, because scripts are constants of this program. All keys must lie in one slot, as ioredis chooses
 * the node of a Cluster by the first.
 */
async function runScript(
  client: Redis | Cluster,
  script: string,
  keys: readonly string[],
  args: readonly (string | Buffer | number)[],
): Promise<unknown> {
  const rest = [keys.length, ...keys, ...args];
  try {
    return await client.callBuffer('evalsha', inMap(digests, script, digestOf), ...rest);
  } catch (error) {
    // NOSCRIPT means that nothing was executed, so a second try is safe. No other failure is repeated.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return await client.callBuffer('eval', script, ...rest);
  }
}
