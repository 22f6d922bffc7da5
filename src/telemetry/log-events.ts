import type { Logger } from 'pino';
import type { RedisTierEvent } from '../cache/redis-tier.ts';
import type { ProxyEvent, UpstreamOperation } from '../proxy/events.ts';
import type { PurgeEvent } from '../purge/purges.ts';
import type { StreamEvent } from '../push/events.ts';
import type { EvictionProblem } from '../redis/ask-server.ts';
import type { RedisTransition } from '../redis/transitions.ts';

/** After so many good answers in a row the log says that the indexer answers again. */
const GOOD_AGAIN = 10;

/**
 * Logs changes that an operator has to know of. A request that fails in the same way as the one before adds no line.
 */
export class EventLog {
  readonly #logger: Logger;
  #indexer: 'answers' | 'fails' | 'refuses-key' = 'answers';
  #goodInARow = 0;
  #isClosing = false;
  readonly #openBreakers = new Set<UpstreamOperation>();
  /** What was logged of the stream since it was connected to: a server that says much adds no line each time. */
  readonly #saidOfStream = new Set<StreamEvent['name']>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * To be called at shutdown. From now on requests fail because this process closes its connections, which is not
   * logged.
   */
  onClosing(): void {
    this.#isClosing = true;
  }

  readonly onProxyEvent = (event: ProxyEvent): void => {
    if (this.#isClosing) return;
    // A failed question for the head only shortens lifetimes; no client gets a failure.
    if ('operation' in event && event.operation === 'masterchainInfo') return;
    switch (event.name) {
      case 'key-refused':
        this.#indexerIs('refuses-key', () =>
          this.#logger.error(
            { status: event.status },
            'the indexer refuses our API key: check UPSTREAM_API_KEY (clients get 502)',
          ),
        );
        break;
      case 'upstream-useless':
        this.#indexerIs('fails', () => this.#logger.warn({ code: event.code }, 'the indexer fails'));
        break;
      case 'upstream-failed':
        this.#indexerIs('fails', () =>
          this.#logger.warn({ code: event.code, reason: reasonOf(event.cause) }, 'the indexer fails'),
        );
        break;
      case 'upstream-answered':
        if (event.status >= 500) {
          this.#indexerIs('fails', () => this.#logger.warn({ status: event.status }, 'the indexer fails'));
        } else if (event.status !== 401 && event.status !== 403) {
          // Wait for several good answers: otherwise one failing key among many good ones would log a change each time.
          this.#goodInARow++;
          if (this.#goodInARow < GOOD_AGAIN) break;
          this.#indexerIs('answers', () => this.#logger.info('the indexer answers again'));
        }
        break;
      case 'breaker':
        this.#breakerIs(event);
        break;
      case 'pause':
        if (event.state === 'begun')
          this.#logger.warn({ ms: event.ms }, 'the indexer asked for a pause (429): misses are refused until it ends');
        else this.#logger.info('pause ended: the indexer answers again');
        break;
      case 'rate-shared':
        if (event.shared) this.#logger.info('rate limit is shared through Redis again');
        else this.#logger.warn('rate limit is not shared: Redis fails, so this process uses the whole rate by itself');
        break;
      case 'bug':
        this.#logger.error({ err: event.error }, 'this should not happen: please report it');
        break;
      default:
        break;
    }
  };

  readonly onRedisTransition = (transition: RedisTransition): void => {
    if (transition.state === 'connected') this.#logger.info('connected to Redis');
    else this.#logger.warn({ reason: transition.reason }, 'no connection to Redis');
  };

  readonly onEvictionProblem = (problem: EvictionProblem): void => {
    const why = problem === 'no-maxmemory' ? 'no maxmemory is set' : 'its maxmemory-policy is noeviction';
    this.#logger.warn(
      `nothing keeps Redis from filling up, because ${why}: set maxmemory and an eviction policy such as allkeys-lru`,
    );
  };

  readonly onRedisEvent = (event: RedisTierEvent): void => {
    if (event.name !== 'redis-available') return;
    const { operation, available, reason } = event;
    if (available) this.#logger.info({ operation }, 'Redis circuit breaker closed');
    else this.#logger.warn({ operation, reason }, 'Redis circuit breaker opened');
  };

  readonly onPurgeEvent = (event: PurgeEvent): void => {
    switch (event.name) {
      case 'purged': {
        const { selector, value, notReached } = event;
        if (notReached === undefined) this.#logger.info({ [selector]: value }, 'purged');
        else
          this.#logger.warn(
            { [selector]: value, reason: notReached },
            'purged in this instance alone: Redis did not accept the purge, which is sent again',
          );
        break;
      }
      case 'purges-followed':
        this.#logger.info({ purges: event.bans }, 'applied purges of other instances');
        break;
      case 'purges-available':
        if (event.available) this.#logger.info('purges of other instances are followed through Redis again');
        else
          this.#logger.warn(
            { reason: event.reason },
            'purges of other instances cannot be followed: entries in Redis are not used until they can',
          );
        break;
    }
  };

  readonly onStreamEvent = (event: StreamEvent): void => {
    if (event.name === 'stream-connected') {
      this.#saidOfStream.clear();
      this.#logger.info('connected to the stream');
      return;
    }
    if (this.#saidOfStream.has(event.name)) return;
    this.#saidOfStream.add(event.name);
    if (event.name === 'stream-disconnected') {
      this.#logger.warn({ reason: event.reason }, 'no connection to the stream: pending traces are polled');
    } else if (event.name === 'stream-refused') {
      this.#logger.warn({ error: event.error }, 'the stream refused a subscription: what it names is polled');
    } else if (event.name === 'stream-bad-frame') {
      this.#logger.warn('the stream sent a message that cannot be read: it is ignored');
    }
  };

  /** A breaker that opens again after a failed trial is not logged again. */
  #breakerIs({ operation, state }: Extract<ProxyEvent, { name: 'breaker' }>): void {
    if (state === 'closed') {
      this.#openBreakers.delete(operation);
      this.#logger.info({ operation }, 'circuit breaker closed');
    } else if (!this.#openBreakers.has(operation)) {
      this.#openBreakers.add(operation);
      this.#logger.warn({ operation }, 'circuit breaker opened');
    }
  }

  #indexerIs(state: 'answers' | 'fails' | 'refuses-key', say: () => void): void {
    if (state !== 'answers') this.#goodInARow = 0;
    if (this.#indexer === state) return;
    this.#indexer = state;
    say();
  }
}

/** The message of the innermost cause: undici and Node wrap the system's error. */
function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return reasonOf(cause.cause) ?? (cause.message || cause.name);
}
