import type { Logger } from 'pino';
import type { ByEvent, EventHub } from '../event-hub.ts';
import { FAILURES } from '../failures/codes.ts';
import { sentenceOf } from '../failures/sentence.ts';
import { SHED } from '../failures/shed-reasons.ts';
import type { IndexerWords } from '../indexer/upstream-client.ts';
import { CLIENT_MISTAKES, outcomeOfStatus } from '../outcomes.ts';
import { reasonOf } from '../reason-of.ts';
import type { MonotonicMs } from '../time-units.ts';
import { loggedKey } from '../ton/cache-key.ts';
import { notServedText } from '../ton/not-served.ts';
import { OPERATIONS } from '../ton/operations.ts';
import { sayingOf } from './saying.ts';

const MINUTE_MS = 60_000;

/** An indexer that answered less than this ago accepts our key. */
const ANSWERING_MS = 10_000;

const isAnswer = (status: number): boolean => status === 200 || status === 404 || CLIENT_MISTAKES.includes(status);

/** After this many good answers in a row the log reports that the indexer answers again. */
const GOOD_AGAIN = 10;

/** One line. */
interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields?: object;
  /** In a topic, a line is written once a minute for each cause. */
  readonly topic?: string;
  readonly cause?: string;
  /** The operation that fails or works, if only requests for this operation show that it works again. */
  readonly operation?: string;
  /** True for the end of a failure: it is written after {@link GOOD_AGAIN} such events, if it is news. */
  readonly isGood?: true;
}

const info = (message: string, fields: object = {}): Line => ({ level: 'info', message, fields });
const warn = (message: string, fields: object = {}): Line => ({ level: 'warn', message, fields });
const error = (message: string, fields: object): Line => ({ level: 'error', message, fields });
const about = (topic: string, cause: string, line: Line): Line => ({ ...line, topic, cause });

const CLIENT_STREAMS = 'streams of clients';
const topicOf = (indexer: string) => `indexer ${indexer}`;
const indexerFails = (
  { indexer, operation }: { indexer: string; operation: string },
  cause: string | number,
  fields: object,
): Line => ({
  ...about(
    topicOf(indexer),
    `${operation} ${cause}`,
    warn('the indexer fails', { upstream: indexer, operation, ...fields }),
  ),
  operation,
});

const noSockets = (message: string, cause: unknown): Line =>
  about(
    'sockets',
    message,
    warn(`${message}: this machine lacks descriptors, ports or memory`, { reason: reasonOf(cause) }),
  );

const STATES = {
  unhealthy: (upstream: string) =>
    warn('the indexer is unhealthy: its requests fail, so the other indexers are used', { upstream }),
  healthy: (upstream: string) => info('the indexer is healthy again and in use', { upstream }),
  behind: (upstream: string) => warn('the indexer is behind: the other indexers are used', { upstream }),
  'caught-up': (upstream: string) => info('the indexer has caught up and is in use again', { upstream }),
  'lacks-block': (upstream: string) =>
    warn(
      'the indexer failed its head check: it lacks a block that it named. Its 404s may be wrong; other indexers are used if there are any',
      { upstream },
    ),
  'other-chain': (upstream: string) =>
    warn(
      `${sentenceOf(SHED['other-chain'])}: it gets no requests until that is corrected; other indexers are used if there are any`,
      { upstream },
    ),
  'head-accepted': (upstream: string) => info('the indexer passes its head check again', { upstream }),
};

/** The path of a client's request. Its long parts may be accounts or secrets. */
const shownPath = (path: string): string => path.replace(/[^ /]{32,}/g, '…').slice(0, 100);

/** An error of an indexer, with its words. */
interface ErrorAnswer {
  readonly indexer: string;
  readonly operation: string;
  readonly status: number;
  readonly says?: IndexerWords | undefined;
}

/** The words of an indexer's error, for the log. */
function saidIn({ status, says }: ErrorAnswer): { readonly upstreamMessage?: string } {
  const said = sayingOf(status, says);
  return said === undefined ? {} : { upstreamMessage: said };
}

/** The indexers of the settings. */
export interface LoggedIndexers {
  /** True if there is only one. */
  readonly isOne: boolean;
  /** The hosts and ports of backups. */
  readonly backups: readonly string[];
}

/** The lines of events about answers of an indexer. */
const answerLines = (
  { isOne, backups }: LoggedIndexers,
  isAnswering: (indexer: string) => boolean,
): ByEvent<Line | undefined> => {
  const keyRefused = (event: ErrorAnswer) => {
    const { indexer, status } = event;
    const fields = { status, ...saidIn(event) };
    // A firewall in front of it refuses some requests; a wrong key is refused for all.
    if (isAnswering(indexer)) return indexerFails(event, status, fields);
    const setting = backups.includes(indexer) ? 'UPSTREAM_BACKUP_API_KEY' : 'UPSTREAM_API_KEY';
    const { 'upstream-unauthorized': refused } = FAILURES;
    const got = refused.status;
    const clients = isOne ? `clients get ${got}` : `the other indexers are used; clients get ${got} only if all fail`;
    const message = `${sentenceOf(refused)}: check ${setting} (${clients})`;
    return about(topicOf(indexer), 'key', error(message, { upstream: indexer, ...fields }));
  };
  return {
    'upstream-answered': (event) => {
      const { indexer, operation, status } = event;
      const isRefusedKey = outcomeOfStatus(status) === 'refused-key';
      if (status < 500 && !isRefusedKey) {
        return {
          ...info('the indexer answers again', { upstream: indexer }),
          topic: topicOf(indexer),
          operation,
          isGood: true,
        };
      }
      // The meaning of an operation's answer is reported once it is read. A client's own key does not concern the
      // operator.
      if (OPERATIONS.has(operation) && event.isForHead !== true) return undefined;
      if (!isRefusedKey) return indexerFails(event, status, { status, ...saidIn(event) });
      return operation === 'passthrough' ? undefined : keyRefused(event);
    },
    'upstream-useless': (event) => {
      const { code, status, contentType, begins } = event;
      if (code === 'upstream-unauthorized') return keyRefused(event);
      if (code === 'upstream-error')
        return status < 500 ? undefined : indexerFails(event, status, { status, ...saidIn(event) });
      // For these the pause, and the guard of operations that are not served, report their begin and end.
      return code === 'upstream-rate-limited' || code === 'not-served'
        ? undefined
        : indexerFails(event, code, { code, ...(begins !== undefined && { status, contentType, bodyStart: begins }) });
    },
  };
};

/** The line for each other event that is logged; `undefined` if an event means nothing to an operator. */
const LINES: ByEvent<Line | undefined> = {
  'upstream-failed': (event) => indexerFails(event, event.code, { code: event.code, reason: reasonOf(event.cause) }),
  'upstream-unsent': ({ cause }) => noSockets('no connection to the indexer can be opened', cause),
  'not-accepted': ({ cause }) => noSockets('a connection to one of our ports cannot be accepted', cause),
  'few-open-files': ({ warning }) => warn(warning),
  'operation-served': ({ indexer, operation, isServed }) =>
    isServed
      ? info('the indexer serves this operation again', { upstream: indexer, operation })
      : warn(
          `${notServedText(operation)}: clients get ${FAILURES['not-served'].status} if no other indexer serves it`,
          {
            upstream: indexer,
            operation,
          },
        ),
  'indexer-state': ({ indexer, state }) => STATES[state](indexer),
  breaker: ({ indexer, operation, state }) =>
    state === 'open'
      ? warn('circuit breaker opened', { upstream: indexer, operation })
      : info('circuit breaker closed', { upstream: indexer, operation }),
  pause: ({ indexer, ...event }) =>
    event.state === 'begun'
      ? warn(`${sentenceOf(SHED.paused)}: no requests are sent to it until the pause ends`, {
          upstream: indexer,
          pauseMs: event.ms,
        })
      : info('pause ended: the indexer answers again', { upstream: indexer }),
  'key-paused': ({ indexer, key, isCached, ms }) =>
    about(
      `paused keys of ${indexer}`,
      '',
      warn(`${sentenceOf(SHED['key-paused'])}: no requests are sent for it until its Retry-After is over`, {
        upstream: indexer,
        ...(isCached ? { key: loggedKey(key) } : { path: shownPath(key) }),
        pauseMs: ms,
      }),
    ),
  // Its causes have lines of their own.
  verdict: ({ summary, cause, runbook }) =>
    info(cause === '' ? 'clients are served as usual' : 'clients are not served as usual', {
      summary,
      ...(cause !== '' && { cause, runbook: `docs/incidents.md#${runbook}` }),
    }),
  'rate-shared': ({ shared }) =>
    shared
      ? info('rate limit is shared through Redis again')
      : warn('rate limit is not shared: Redis fails, so this process uses the whole rate by itself'),
  bug: ({ error: err }) => error('this should not happen: please report it', { err }),
  'redis-transition': (event) =>
    event.state === 'connected' ? info('connected to Redis') : warn('no connection to Redis', { reason: event.reason }),
  'redis-reason': ({ reason }) => warn('Redis cannot be used', { reason }),
  'redis-evicts-nothing': ({ problem }) => {
    const why = problem === 'no-maxmemory' ? 'no maxmemory is set' : 'its maxmemory-policy is noeviction';
    return warn(`Redis may fill up, because ${why}: set maxmemory and an eviction policy such as allkeys-lru`);
  },
  'redis-available': ({ operation: call, available, reason }) =>
    available ? info('Redis circuit breaker closed', { call }) : warn('Redis circuit breaker opened', { call, reason }),
  purged: ({ selector, value, notReached }) =>
    notReached === undefined
      ? info('purged', { [selector]: value })
      : warn('purged in this instance only: Redis did not accept the purge, which is sent again', {
          [selector]: value,
          reason: notReached,
        }),
  'purges-followed': ({ bans }) => info('applied purges of other instances', { purges: bans }),
  'purges-available': ({ available, reason }) =>
    available
      ? info('purges of other instances are read from Redis again')
      : warn('purges of other instances cannot be read: entries in Redis are not used until they can', { reason }),
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
  'client-limited': ({ client }) =>
    about('limits of clients', '', warn('a client exceeds its limit and gets 429', { client })),
  'block-follower': ({ state }) =>
    ({
      resting: warn('the block follower rests for 20 s to 10 minutes: it read blocks too slowly to prove answers'),
      idle: info('the block follower stopped: it would answer too few polls of accounts'),
      behind: info('the block follower started: it can prove answers about accounts'),
      alive: info('the block follower started: it can prove answers about accounts'),
    })[state],
  'client-stream': ({ result }) =>
    typeof result === 'string' && result.startsWith('upstream-')
      ? about(CLIENT_STREAMS, result, warn('no stream can be opened for clients: wallets poll', { code: result }))
      : undefined,
};

/** The log's state of a topic that fails or did. */
interface TopicLog {
  /** When each cause was last logged. */
  readonly at: Map<string, MonotonicMs>;
  /** The operation that failed last. */
  operation: string | undefined;
  /** True from the line about a failure to the line about its end. */
  isOpen: boolean;
  goodInARow: number;
}

/**
 * Logs changes that an operator must know. A request that fails like the previous one adds no line. Call the returned
 * function at shutdown: from then on this process closes its connections, and failures caused by that are not logged.
 */
export function logEvents(
  logger: Logger,
  now: () => MonotonicMs,
  events: EventHub,
  indexers: LoggedIndexers = { isOne: true, backups: [] },
): () => void {
  let isClosing = false;
  const saidOf = new Map<string, TopicLog>();
  const heardOf = new Set<string>();

  /** By indexer: its last answer, and its last 429. */
  const answeredAt = new Map<string, MonotonicMs>();
  const refusedBy = new Map<string, ErrorAnswer>();
  const isAnswering = (indexer: string) => now() - (answeredAt.get(indexer) ?? Number.NEGATIVE_INFINITY) < ANSWERING_MS;
  events.on('upstream-answered', (event) => {
    if (event.status === 429) refusedBy.set(event.indexer, event);
    if (event.operation !== 'passthrough' && isAnswer(event.status)) answeredAt.set(event.indexer, now());
  });

  const isNews = ({ topic, cause = '', operation, isGood }: Line): boolean => {
    if (topic === undefined) return true;
    const said = saidOf.get(topic);
    if (isGood) {
      if (said === undefined || (said.operation ?? operation) !== operation) return false;
      // Wait for several good answers: otherwise one failing key among many good ones would log a change each time.
      if (!said.isOpen || ++said.goodInARow < GOOD_AGAIN) return false;
      said.isOpen = false;
      return true;
    }
    const known = said ?? { at: new Map<string, MonotonicMs>(), operation, isOpen: false, goodInARow: 0 };
    saidOf.set(topic, Object.assign(known, { operation, goodInARow: 0 }));
    if (now() - (known.at.get(cause) ?? Number.NEGATIVE_INFINITY) < MINUTE_MS) return false;
    known.at.set(cause, now());
    known.isOpen = true;
    return true;
  };

  events.onEach({ ...answerLines(indexers, isAnswering), ...LINES }, (line, event) => {
    if (isClosing) return;
    const isPause = event.name === 'pause' || event.name === 'key-paused';
    const refused = isPause && line?.level === 'warn' ? refusedBy.get(event.indexer) : undefined;
    // A failed head poll only shortens lifetimes; no client gets a failure. But the first one, at the start, shows what
    // clients will get.
    if ('isForHead' in event && heardOf.has(event.indexer)) return;
    if ('indexer' in event) heardOf.add(event.indexer);
    if (line !== undefined && isNews(line))
      logger[line.level]({ ...line.fields, ...(refused && saidIn(refused)) }, line.message);
  });
  return () => {
    isClosing = true;
  };
}
