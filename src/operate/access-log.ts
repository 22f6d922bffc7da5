import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { AnsweredRequest } from '../http/public/operation-answers.ts';
import type { MonotonicMs } from '../time-units.ts';

/** A request that took as long as this is slow. */
const SLOW_MS = 1000;

/** Of failed requests no more than this are logged in a second; the next line says how many were left out. */
const MOST_FAILED_A_SECOND = 10;

export interface AccessLogDependencies {
  readonly logger: Logger;
  /** A client as it may be logged. */
  readonly shown: (client: string) => string;
  /** 0 to 1. */
  readonly random: () => number;
  readonly now: () => MonotonicMs;
  /** `slow`: those that took a second, and the failed ones. */
  readonly requests: 'failed' | 'slow' | 'all';
  /** The part of the requests that is logged, 0 to 1; failed ones always are. */
  readonly sample: number;
}

/** One line for a request: what its client saw, and what finds it elsewhere. */
export class AccessLog {
  readonly #dependencies: AccessLogDependencies;
  #second = 0;
  #failedInSecond = 0;
  #leftOut = 0;

  constructor(dependencies: AccessLogDependencies) {
    this.#dependencies = dependencies;
  }

  readonly onAnswered = (request: AnsweredRequest): void => {
    const { requests, sample } = this.#dependencies;
    if (request.status >= 500) {
      this.#failed(request);
      return;
    }
    const isMeant = requests === 'all' || (requests === 'slow' && request.ms >= SLOW_MS);
    if (isMeant && this.#dependencies.random() < sample) this.#write('info', request);
  };

  #failed(request: AnsweredRequest): void {
    const second = Math.floor(this.#dependencies.now() / 1000);
    if (second !== this.#second) [this.#second, this.#failedInSecond] = [second, 0];
    if (this.#failedInSecond++ >= MOST_FAILED_A_SECOND) this.#leftOut++;
    else this.#write('warn', request);
  }

  #write(level: 'info' | 'warn', { key, client, ms, ...request }: AnsweredRequest): void {
    const { logger, shown } = this.#dependencies;
    const leftOut = this.#leftOut === 0 ? {} : { failedBefore: this.#leftOut };
    this.#leftOut = 0;
    logger[level](
      {
        ...request,
        client: shown(client),
        key: key && hash('sha256', key, 'base64url').slice(0, 16),
        ms: Math.round(ms * 10) / 10,
        ...leftOut,
      },
      'request',
    );
  }
}
