import type { Logger } from 'pino';
import type { ByEvent, EventHub } from '../event-hub.ts';
import { FAILURES } from '../failures/codes.ts';
import { REFUSED } from '../failures/refusals.ts';
import { sentenceOf } from '../failures/sentence.ts';
import type { MonotonicMs } from '../time-units.ts';
import { loggedKey } from '../ton/cache-key.ts';
import { OnceAMinute } from './once-a-minute.ts';

/** The other paths of a minute are in the metrics only: a scanner tries thousands. */
const MOST_TOPICS_OF_CLIENTS = 20;

interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields?: object;
  /** In a topic, a line is written once a minute. */
  readonly topic?: string;
  /** Clients can invent topics of this kind, so the number of lines in a minute is limited. */
  readonly isNamedByClients?: true;
}

const info = (message: string, fields: object = {}): Line => ({ level: 'info', message, fields });
const warn = (message: string, fields: object = {}): Line => ({ level: 'warn', message, fields });
const error = (message: string, fields: object): Line => ({ level: 'error', message, fields });

/** The path of a client's request. Its long parts may be accounts or secrets. */
const shownPath = (path: string): string => path.replace(/[^ /]{32,}/g, '…').slice(0, 100);

/**
 * The line for each event that is logged; `undefined` if an event means nothing to an operator. Lasting states are
 * conditions, which have lines of their own.
 */
const LINES: ByEvent<Line | undefined> = {
  'few-open-files': ({ warning }) => warn(warning),
  'key-paused': ({ indexer, key, isCached, ms, says }) => ({
    ...warn(`${sentenceOf(REFUSED['key-paused'])}: no requests are sent for it until its Retry-After is over`, {
      upstream: indexer,
      ...(isCached ? { key: loggedKey(key) } : { path: shownPath(key) }),
      pauseMs: ms,
      ...(says !== '' && { upstreamMessage: says }),
    }),
    topic: `paused keys of ${indexer}`,
  }),
  // The condition has the words of an error. This line also has the first bytes of a body from outside of the API.
  'upstream-useless': ({ indexer, operation, code, status, contentType, begins }) =>
    code === 'upstream-invalid'
      ? {
          ...warn(FAILURES[code].clientReads.usual, {
            ...{ upstream: indexer, operation, status, contentType },
            bodyStart: begins,
          }),
          topic: `answers of ${indexer} to ${operation}`,
        }
      : undefined,
  bug: ({ error: err }) => error('this should not happen: please report it', { err }),
  'redis-transition': ({ state }) => (state === 'connected' ? info('connected to Redis') : undefined),
  'redis-evicts-nothing': ({ problem }) => {
    const why = problem === 'no-maxmemory' ? 'no maxmemory is set' : 'its maxmemory-policy is noeviction';
    return warn(`Redis may fill up, because ${why}: set maxmemory and an eviction policy such as allkeys-lru`);
  },
  'path-not-served': ({ path, why }) => ({
    ...info('clients request a path that is not served here, or not in this form', { path: shownPath(path), why }),
    topic: shownPath(path),
    isNamedByClients: true,
  }),
  purged: ({ selector, value, notReached }) =>
    notReached === undefined
      ? info('purged', { [selector]: value })
      : warn('purged in this instance only: Redis did not accept the purge, which is sent again', {
          [selector]: value,
          reason: notReached,
        }),
  'purges-followed': ({ bans }) => info('applied purges of other instances', { purges: bans }),
  'proxy-not-trusted': ({ address }) =>
    warn(
      'all requests come from one address that sends X-Forwarded-For or a similar header, and count as one client: if it is your proxy, set TRUSTED_PROXIES',
      { address },
    ),
  'client-not-named': ({ address, header }) =>
    warn(
      `a trusted proxy sends ${header} without X-Forwarded-For, so its clients count as one: let it send X-Forwarded-For`,
      { address, header },
    ),
  'streams-of-proxy': ({ address, header }) =>
    warn(
      `a client has its maximum of streams (passThrough.maxStreamsPerClient) and gets 429, and ${header} names others: if its address is your proxy, set TRUSTED_PROXIES, and let it send X-Forwarded-For`,
      { address, header },
    ),
  'block-follower': ({ state }) =>
    ({
      resting: warn('the block follower rests for 20 s to 10 minutes: it proved too few responses'),
      idle: info('the block follower stopped: it would answer too few polls of accounts'),
      behind: info('the block follower started: it can prove responses about accounts'),
      alive: info('the block follower started: it can prove responses about accounts'),
    })[state],
  'pages-cut': ({ indexer }) =>
    warn('an indexer silently truncates blocks: the block follower now requests the size of each one', {
      upstream: indexer,
    }),
  'client-stream': ({ result }) =>
    typeof result === 'string' && result.startsWith('upstream-')
      ? { ...warn('no stream can be opened for clients: wallets poll', { code: result }), topic: `streams: ${result}` }
      : undefined,
};

/**
 * Logs changes that an operator must know. Call the returned function at shutdown: from then on this process closes its
 * connections, and failures caused by that are not logged.
 */
export function logEvents(logger: Logger, now: () => MonotonicMs, events: EventHub): () => void {
  let isClosing = false;
  const ofClients = new OnceAMinute(now, MOST_TOPICS_OF_CLIENTS);
  const ours = new OnceAMinute(now);
  events.onEach(LINES, (line) => {
    if (isClosing || line === undefined) return;
    const { level, message, fields, topic, isNamedByClients } = line;
    if (topic !== undefined && !(isNamedByClients ? ofClients : ours).isDue(topic)) return;
    logger[level](fields, message);
  });
  return () => {
    isClosing = true;
  };
}
