import type { Logger } from 'pino';
import type { RedisTierEvent } from '../cache/redis-tier.ts';
import type { ProxyEvent } from '../proxy/events.ts';

/**
 * Writes what an operator has to know, at the moment it changes: a request that fails the same way as the one before
 * adds no line.
 */
export class EventLog {
  readonly #logger: Logger;
  #indexer: 'answers' | 'fails' | 'refuses-key' = 'answers';

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  readonly onProxyEvent = (event: ProxyEvent): void => {
    switch (event.name) {
      case 'key-refused':
        this.#indexerIs('refuses-key', () =>
          this.#logger.error(
            { status: event.status },
            'the indexer refuses our API key: check UPSTREAM_API_KEY (clients get 502)',
          ),
        );
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
          this.#indexerIs('answers', () => this.#logger.info('the indexer answers again'));
        }
        break;
      case 'breaker':
        if (event.state === 'open')
          this.#logger.warn({ operation: event.operation }, 'the indexer fails: cut off for a while');
        else this.#logger.info({ operation: event.operation }, 'the indexer is asked again');
        break;
      case 'bug':
        this.#logger.error({ err: event.error }, 'this should not happen: please report it');
        break;
      default:
        break;
    }
  };

  readonly onRedisEvent = (event: RedisTierEvent): void => {
    if (event.name !== 'redis-available') return;
    const { operation, available, reason } = event;
    if (available) this.#logger.info({ operation }, 'Redis is used again');
    else this.#logger.warn({ operation, reason }, 'Redis fails and is left alone for a while');
  };

  #indexerIs(state: 'answers' | 'fails' | 'refuses-key', say: () => void): void {
    if (this.#indexer === state) return;
    this.#indexer = state;
    say();
  }
}

/** The innermost cause says most: undici and Node wrap what the system said. */
function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return reasonOf(cause.cause) ?? (cause.message || cause.name);
}
