import { isIP } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import type { Names } from '../names/names.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { connectorsBy } from './connectors.ts';
import { patchIoredis } from './patch-ioredis.ts';
import type { RedisAddress } from './redis-url.ts';

const FIRST_DELAY_MS = 10;
const LONGEST_DELAY_MS = 1000;

/**
 * A READONLY error makes the client reconnect at most once in this time. A reconnect finds the new primary after a
 * failover; it does not help if the URL names a replica.
 */
const READ_ONLY_RECONNECT_EVERY_MS = 30_000;

// eslint-disable-next-line no-restricted-syntax -- what is measured is a socket, which has no other clock
const monotonic = (): MonotonicMs => performance.now();

/** The longest pause between two checks whether a LOADING server is ready. */
const LONGEST_LOADING_WAIT_MS = 1000;

/**
 * Attempts to reconnect to a lost node of a Cluster, which take about 6 s. Afterwards only a command for the node
 * connects to it.
 */
const NODE_RECONNECTS = 10;

/** The maximum number of redirections of a command: MOVED and ASK, and once more of each while slots move. */
const MOST_REDIRECTIONS = 5;

/** The address to connect to, how its name is looked up, and the timeouts of connecting and of a command. */
export interface ClientOptions {
  readonly names: Names;
  readonly address: RedisAddress;
  /**
   * The certificates of the authorities that verify servers, in PEM; `undefined` for the system's. With it, connections
   * to a Cluster and to sentinels use TLS.
   */
  readonly tlsCa?: string | undefined;
  readonly connectTimeoutMs: Ms;
  /** A call is rejected after this time without an answer, and the connection to a server is replaced. */
  readonly commandTimeoutMs: Ms;
}

/** A client that reconnects for ever, queues no command while it is not connected, and sends no command twice. */
export function openClient(options: ClientOptions): Redis | Cluster {
  patchIoredis();
  return options.address.topology === 'cluster' ? openCluster(options) : openLasting(options);
}

function openLasting(options: ClientOptions): Redis {
  const client = new Redis({ ...addressOf(options), ...lasting(options) });
  // Otherwise ioredis would use database 0, which may belong to another application.
  client.on('error', ({ message }: Error) => {
    if (message.includes('DB index is out of range')) client.disconnect(true);
  });
  reconnectTo(client);
  return client;
}

function openCluster(options: ClientOptions): Cluster {
  const { address, commandTimeoutMs } = options;
  const cluster = new Cluster([...address.endpoints], {
    redisOptions: { ...secretsOf(options), ...lasting(options), ...tlsOf(options) },
    enableOfflineQueue: false,
    // Keep host names: certificates are checked against them, and the connector looks them up at each connect.
    dnsLookup: (host, done) => done(null, host),
    maxRedirections: MOST_REDIRECTIONS,
    // No retries: a command whose connection was lost may have been executed, and a miss is better than a wait.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: commandTimeoutMs,
    clusterRetryStrategy: reconnectDelayMs,
  });
  keepNodes(cluster);
  return cluster;
}

function lasting({ names, connectTimeoutMs, commandTimeoutMs, address }: ClientOptions) {
  const { toServer, bySentinels } = connectorsBy(names, connectTimeoutMs);
  return {
    Connector: address.topology === 'sentinel' ? bySentinels : toServer,
    connectionName: 'toncache',
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    socketTimeout: commandTimeoutMs,
    disconnectTimeout: commandTimeoutMs,
    maxLoadingRetryTime: LONGEST_LOADING_WAIT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A demoted node of a Cluster answers MOVED, never READONLY.
    reconnectOnError: address.topology === 'cluster' ? null : readOnlyNowAndThen(),
  };
}

function addressOf(options: ClientOptions) {
  const { address, commandTimeoutMs } = options;
  const [first = { host: '', port: 0 }] = address.endpoints;
  const common = { ...secretsOf(options), db: address.database, ...tlsOf(options) };
  if (address.topology !== 'sentinel') return { host: first.host, port: first.port, ...common };
  const { username, password } = address.sentinelCredentials;
  return {
    ...common,
    sentinels: [...address.endpoints],
    name: address.primaryName,
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(common.tls && { sentinelTLS: common.tls, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: commandTimeoutMs,
    sentinelRetryStrategy: reconnectDelayMs,
    // The detector's connections can only report errors to the console. Without it, the client leaves a demoted primary
    // when the sentinels close its connections, and a hanging one when a command times out.
    failoverDetector: false,
  };
}

function secretsOf({ address: { username, password } }: ClientOptions) {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

function tlsOf({ address, tlsCa }: ClientOptions) {
  if (address.topology !== 'server') return tlsCa === undefined ? {} : { tls: { ca: tlsCa } };
  if (!address.tls) return {};
  const host = address.endpoints[0]?.host ?? '';
  return { tls: { ...(tlsCa !== undefined && { ca: tlsCa }), ...(isIP(host) === 0 && { servername: host }) } };
}

function readOnlyNowAndThen(): (error: Error) => boolean {
  let reconnectedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (!error.message.startsWith('READONLY')) return false;
    if (monotonic() - reconnectedAt < READ_ONLY_RECONNECT_EVERY_MS) return false;
    reconnectedAt = monotonic();
    return true;
  };
}

/**
 * The wait before the `attempt`th reconnect, from 1 up: it doubles from 10 ms to 1 s, plus a random part of up to the
 * same length.
 */
function reconnectDelayMs(attempt: number): number {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  // eslint-disable-next-line no-restricted-syntax -- instances should differ, and no test depends on how much
  return delayMs + Math.random() * delayMs;
}

/** After a connection of this length, reconnect delays start again with the shortest. */
const GOOD_AFTER_MS = 2000;

/**
 * Reconnects a lost connection, at most `most` times in a row. The delays start again with the shortest only after a
 * connection has lasted, not as soon as it is ready. Otherwise, with a Redis that answers garbage, each connection
 * would break at its first command and be opened again every 10 ms for ever.
 */
function reconnectTo(client: Redis, most = Number.POSITIVE_INFINITY): void {
  let attempts = 0;
  let readyAt = Number.POSITIVE_INFINITY;
  client.on('ready', () => {
    readyAt = monotonic();
  });
  client.options.retryStrategy = () => {
    if (monotonic() - readyAt >= GOOD_AFTER_MS) attempts = 0;
    readyAt = Number.POSITIVE_INFINITY;
    attempts++;
    return attempts > most ? null : reconnectDelayMs(attempts);
  };
}

/** While a node fails, the Cluster is asked at most once in this time for the holders of its slots. */
const LOOK_AGAIN_EVERY_MS = 500;

/**
 * Resolves when each master of a ready Cluster is connected, or cannot be. Otherwise ioredis connects to a node at the
 * first command for it, and refuses commands until it is connected.
 */
export async function connectMasters(cluster: Cluster): Promise<void> {
  const waiting = cluster.nodes('master').filter(({ status }) => status === 'wait');
  await Promise.all(waiting.map((node) => node.connect().catch(() => {})));
}

/** Keeps a Cluster connected to the nodes that hold its slots now. */
function keepNodes(cluster: Cluster): void {
  cluster.on('+node', (node: Redis) => reconnectTo(node, NODE_RECONNECTS));
  // Finds the node that took over the slots of a lost one. No MOVED can tell, because commands for these slots are not
  // sent.
  let askedAt = Number.NEGATIVE_INFINITY;
  cluster.on('node error', () => {
    if (cluster.status !== 'ready' || monotonic() - askedAt < LOOK_AGAIN_EVERY_MS) return;
    askedAt = monotonic();
    cluster.refreshSlotsCache();
  });
}
