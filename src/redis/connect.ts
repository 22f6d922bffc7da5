import { Redis } from 'ioredis';

const MAX_RECONNECT_DELAY_MS = 1000;
const FIRST_RECONNECT_DELAY_MS = 10;

/** After a failover a new connection finds the new primary; a replica for good must not cost the reads a reconnect each time. */
const READ_ONLY_RECONNECT_EVERY_MS = 30_000;

/** What the rest of the house may ask of Redis. Every call settles within the command timeout, and at once while there is no connection. */
export interface RedisConnection {
  /** The bytes under a key: a slice of a read chunk, to be copied before it is kept. */
  getBuffer(key: string): Promise<Buffer | undefined>;
  /** Stores bytes for `ttlMs` (a whole number of milliseconds from 1 up). */
  set(key: string, value: Buffer, ttlMs: number): Promise<void>;
  /** Ends the connection for good; calls still unanswered are rejected. */
  close(): Promise<void>;
}

/** What those may ask of Redis whose question is a script; a call settles as those of {@link RedisConnection} do. */
export interface RedisScripting {
  /** Runs Lua code of this house and resolves with what it returns. All keys must lie in one slot. */
  runScript(script: string, keys: readonly string[], args: readonly (string | Buffer | number)[]): Promise<unknown>;
}

/** Messages. */
export interface RedisListening {
  listen(channel: string, onMessage: (message: Buffer) => void): void;
}

/** The connection came, or went (or could not be made in the first place). Told once each, not once an attempt. */
export type RedisTransition =
  | { readonly state: 'connected' }
  | { readonly state: 'disconnected'; readonly reason: string };

/** What `connectRedis` needs to know. */
export interface ConnectRedisOptions {
  /** `redis://` or `rediss://`, with user, password and database number if any. */
  readonly url: string;
  readonly connectTimeoutMs: number;
  /** A call unanswered for this long is rejected, and a connection silent for this long under a call is replaced. */
  readonly commandTimeoutMs: number;
  readonly onTransition?: (transition: RedisTransition) => void;
}

/**
 * Starts connecting and returns at once; connects again, for ever, whenever the connection is lost. Nothing is queued
 * while there is none and nothing is sent twice. Throws only for a URL that is none.
 */
export function connectRedis(options: ConnectRedisOptions): RedisConnection & RedisScripting & RedisListening {
  const redis = new Redis(options.url, {
    connectionName: 'toncache',
    connectTimeout: options.connectTimeoutMs,
    commandTimeout: options.commandTimeoutMs,
    socketTimeout: options.commandTimeoutMs,
    disconnectTimeout: options.commandTimeoutMs,
    maxLoadingRetryTime: MAX_RECONNECT_DELAY_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelayMs,
    reconnectOnError: readOnlyNowAndThen(),
  });
  reportTransitions(redis, options.onTransition ?? (() => {}));

  let subscriber: Redis | undefined;
  return {
    getBuffer: async (key) => (await connected(redis, () => redis.getBuffer(key))) ?? undefined,
    set: async (key, value, ttlMs) => {
      await connected(redis, () => redis.set(key, value, 'PX', ttlMs));
    },
    listen: (channel, onMessage) => {
      subscriber = redis.duplicate({ enableOfflineQueue: true });
      subscriber.on('error', () => {});
      subscriber.on('messageBuffer', (_: Buffer, message: Buffer) => onMessage(message));
      subscriber.subscribe(channel).catch(() => {});
    },
    runScript: (script, keys, args) => connected(redis, () => redis.eval(script, keys.length, ...keys, ...args)),
    close: () => {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      // While it waits for the next attempt there is no socket whose end could be told.
      if (['connecting', 'connect', 'ready'].includes(redis.status)) redis.once('end', resolve);
      else resolve();
      redis.disconnect();
      subscriber?.disconnect();
      return ended;
    },
  };
}

/** Runs a command on a connection. ioredis says the same in words about its options, which tell an operator nothing. */
async function connected<T>(redis: Redis, command: () => Promise<T>): Promise<T> {
  if (redis.status !== 'ready') throw new Error('not connected to Redis');
  try {
    return await command();
  } catch (error) {
    const lost = error instanceof Error && error.name === 'MaxRetriesPerRequestError';
    // Without the cause, which holds the command with all its arguments.
    throw lost ? new Error('the connection to Redis was lost') : error;
  }
}

function reconnectDelayMs(attempt: number): number {
  const delayMs = Math.min(FIRST_RECONNECT_DELAY_MS * 2 ** (attempt - 1), MAX_RECONNECT_DELAY_MS);
  return delayMs + Math.random() * delayMs;
}

function readOnlyNowAndThen(): (error: Error) => boolean {
  let reconnectedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!error.message.startsWith('READONLY')) return false;
    if (performance.now() - reconnectedAt < READ_ONLY_RECONNECT_EVERY_MS) return false;
    reconnectedAt = performance.now();
    return true;
  };
}

function reportTransitions(redis: Redis, onTransition: (transition: RedisTransition) => void): void {
  let state: RedisTransition['state'] | undefined;
  let reason = 'connection closed';
  redis.on('error', (error: Error) => {
    reason = describe(error, redis.options.password);
  });
  redis.on('ready', () => {
    state = 'connected';
    reason = 'connection closed';
    onTransition({ state });
  });
  redis.on('reconnecting', () => {
    if (state === 'disconnected') return;
    state = 'disconnected';
    onTransition({ state, reason });
  });
}

// Of an error only this leaves the file: its `command` holds the password when the handshake failed, and servers that
// do not know a command repeat its arguments.
function describe(error: Error & { readonly code?: unknown }, password: string | undefined | null): string {
  const text = error.message || String(error.code ?? error.name);
  return (password ? text.replaceAll(password, '***') : text).slice(0, 200);
}
