import type { Logger } from 'pino';
import type { AnsweredRequest } from '../http/public/responder.ts';
import type { MonotonicMs } from '../time-units.ts';
import { loggedKey } from '../ton/cache-key.ts';

/** A request that took at least this long is slow. */
const SLOW_MS = 1000;

/** At most this many failed requests are logged in a second; the next line contains the number of omitted ones. */
const MOST_FAILED_A_SECOND = 10;

export interface AccessLogDependencies {
  readonly logger: Logger;
  /** A client in the form for the log. */
  readonly shown: (client: string) => string;
  /** 0 to 1. */
  readonly random: () => number;
  readonly now: () => MonotonicMs;
  /** `slow`: requests that took a second, and failed ones. */
  readonly requests: 'failed' | 'slow' | 'all';
  /** The part of the requests that is logged, 0 to 1; failed ones always are. */
  readonly sample: number;
}

/**
 * Logs a line for each selected request: the client's view of it, and the fields that identify it elsewhere. Call the
 * returned function with every answered request.
 */
export function accessLog(dependencies: AccessLogDependencies): (request: AnsweredRequest) => void {
  const { logger, shown, random, now, requests, sample } = dependencies;
  let second = 0;
  let failedInSecond = 0;
  let unlogged = 0;
  const write = (
    level: 'info' | 'warn',
    { id, key, client, ms, indexer, joined, hasFailed: _, ...request }: AnsweredRequest,
  ) => {
    const fields = {
      requestId: id,
      ...request,
      upstream: indexer,
      collapsedWith: joined,
      client: shown(client),
      key: key && loggedKey(key),
      durationMs: Math.round(ms * 10) / 10,
      ...(unlogged > 0 && { suppressed: unlogged }),
    };
    unlogged = 0;
    logger[level](fields, 'request');
  };
  return (request) => {
    if (!request.hasFailed) {
      const isMeant = requests === 'all' || (requests === 'slow' && request.ms >= SLOW_MS);
      if (isMeant && random() < sample) write('info', request);
      return;
    }
    const thisSecond = Math.floor(now() / 1000);
    if (thisSecond !== second) [second, failedInSecond] = [thisSecond, 0];
    if (failedInSecond++ >= MOST_FAILED_A_SECOND) unlogged++;
    else write('warn', request);
  };
}
