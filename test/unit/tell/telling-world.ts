import type { FailedRequest, RequestKind } from '../../../src/answer/finished-request.ts';
import type { RequestOutcome } from '../../../src/answer/phase.ts';
import { failure, overloaded, type ProxyError } from '../../../src/errors.ts';
import { EventHub } from '../../../src/event-hub.ts';
import type { RefusedReason } from '../../../src/failures/refusals.ts';
import { ClientShare } from '../../../src/tell/client-share.ts';
import { LEVELS } from '../../../src/tell/conditions.ts';
import { Counted } from '../../../src/tell/counted.ts';
import { firstLine } from '../../../src/tell/episode-words.ts';
import { Episodes } from '../../../src/tell/episodes.ts';
import { countEvents } from '../../../src/tell/event-counts.ts';
import { IndexerErrors } from '../../../src/tell/indexer-errors.ts';
import { Metrics } from '../../../src/tell/metrics.ts';
import { Conditions } from '../../../src/tell/present-conditions.ts';
import { tellRedis } from '../../../src/tell/redis-outage.ts';
import { type Crowd, Served, slowMsOf } from '../../../src/tell/served.ts';
import { statesTeller } from '../../../src/tell/states.ts';
import type { OperationName } from '../../../src/ton/operation-names.ts';

const NO_CROWD: Crowd = { waiting: 0, waitingClients: 0, waitingShare: 0, askingShare: 0 };
const HEALTHY = { lastWord: undefined, fallenBlocks: 0, oldestBlock: undefined };

/** Whose requests they are; by default each is that of another one. */
interface By {
  readonly key?: string;
  readonly client?: string;
  readonly unreadHeader?: string;
}

/** One of the indexers, whose state a test sets. */
interface Told {
  readonly name: string;
  readonly isBackup: boolean;
  head: {
    lastWord: { readonly ageMs: number | undefined; readonly sameForMs: number } | undefined;
    fallenBlocks: number;
    oldestBlock: number | undefined;
  };
  readonly polls: { isUnresponsive: boolean; readonly askIfDue: () => void };
  /** How often its head was polled because nothing else would find that it is back. */
  polled: number;
  readonly open: Set<string>;
  /** What identifies us there, if a test sets it. */
  readonly ours: { readonly hasKey: boolean; readonly hasLogin: boolean } | undefined;
}

/** All that tells operators about a proxy, without the proxy: a test says what happens, and reads the first line. */
export class TellingWorld {
  now = 1_000_000;
  crowd = NO_CROWD;
  aheadMs = 0;
  readonly share = new ClientShare(() => this.now);
  #requests = 0;
  readonly logOutput = { dropped: 0, waitingBytes: 0 };
  readonly log: string[] = [];
  readonly events = new EventHub();
  readonly conditions: Conditions;
  readonly episodes: Episodes;
  readonly indexers: readonly Told[];
  readonly errors: IndexerErrors;
  readonly counted: Counted;
  readonly #tell: () => void;

  /** Names of indexers; one that begins with `backup` is a backup. */
  constructor(names: readonly string[] = ['a']) {
    const now = () => this.now;
    this.indexers = names.map((name) => {
      const indexer: Told = {
        name,
        isBackup: name.startsWith('backup'),
        head: { ...HEALTHY },
        polls: { isUnresponsive: false, askIfDue: () => void indexer.polled++ },
        polled: 0,
        open: new Set<string>(),
        ours: undefined,
      };
      return indexer;
    });
    this.conditions = new Conditions(now, this.indexers);
    this.episodes = new Episodes({
      now,
      onBegin: ({ level, cause }) => this.log.push(`${level} ${cause.name}`),
      onEnd: ({ cause, since, until = since }) => this.log.push(`over ${cause.name} ${(until - since) / 1000}`),
    });
    const { events, conditions, indexers } = this;
    this.errors = new IndexerErrors({
      events,
      conditions,
      now,
      indexers,
    });
    tellRedis(events, conditions, now);
    const { errors } = this;
    const timeoutMs = 5000;
    const slowMs = slowMsOf(timeoutMs);
    const metrics = new Metrics(events);
    const counted = new Counted(countEvents({ metrics, events, operations: [], timeoutMs, slowMs }), now);
    this.counted = counted;
    const served = new Served({
      events,
      conditions,
      errors,
      now,
      indexers,
      counted,
      slowMs,
      crowd: () => this.crowd,
      share: this.share,
      shownClient: (client) => client,
    });
    const states = statesTeller({
      ...{ conditions, errors, now, logOutput: this.logOutput, hasRedis: true },
      ...this.#states(),
    });
    this.#tell = () => {
      states();
      served.tell();
      this.episodes.turn(conditions.active, counted.within(1000).clients > 0);
    };
  }

  #states() {
    const world = this;
    const operations = ['pendingTraces', 'adjacentTransactions'];
    return {
      clock: {
        get aheadOfWallMs() {
          return world.aheadMs;
        },
      },
      indexers: this.indexers.map((indexer) => ({
        name: indexer.name,
        polls: indexer.polls,
        route: { isBackup: indexer.isBackup },
        get head() {
          return indexer.head;
        },
        breakers: new Map(
          operations.map((operation) => [
            operation,
            {
              breaker: {
                get isFailing() {
                  return indexer.open.has(operation);
                },
              },
            },
          ]),
        ),
      })),
    };
  }

  /** Requests that clients got answers to. */
  answered(
    count: number,
    outcome: RequestOutcome = 'hit-memory',
    operation: RequestKind = 'pendingTraces',
    client = 'served',
  ): void {
    for (let time = 0; time < count; time++) {
      this.events.report({ name: 'answered', operation, outcome });
      this.share.count(client);
    }
  }

  /** Requests that failed like this; by default each is that of another client, for another key. */
  failed(count: number, error: ProxyError, operation: RequestKind = 'pendingTraces', by: By = {}): void {
    for (let time = 0; time < count; time++) {
      const request = this.#request(operation, by);
      this.share.count(request.requester.client);
      this.events.report({ name: 'answered', operation, outcome: 'failed' });
      this.events.report({ name: 'failed', ...request, error });
    }
  }

  /** Requests that were passed through, and got this status of the indexer itself. */
  passed(count: number, status: number, operation: 'passthrough' | 'streaming' = 'passthrough', by: By = {}): void {
    for (let time = 0; time < count; time++) {
      const request = this.#request(operation, by);
      this.share.count(request.requester.client);
      this.events.report({ name: 'answered', operation, outcome: 'miss' });
      if (status >= 502) this.events.report({ name: 'failure-passed', ...request, status });
    }
  }

  #request(operation: RequestKind, by: By): FailedRequest {
    this.#requests++;
    const { key = `key ${this.#requests}`, client = `client ${this.#requests}`, unreadHeader } = by;
    return { operation, key, requester: { client, unreadHeader } };
  }

  /** Requests that were refused for this reason. */
  refused(count: number, reason: Exclude<RefusedReason, 'client-limit'>, by: By = {}): void {
    const operation = 'pendingTraces';
    for (let time = 0; time < count; time++) this.events.report({ name: 'load-refused', operation, reason });
    this.failed(count, overloaded(reason, 0), operation, by);
  }

  /** Requests above the limit of their client. */
  limited(count: number, { client = '10.0.7.0/24', unreadHeader }: By = {}): void {
    const requester = { client, unreadHeader };
    for (let time = 0; time < count; time++)
      this.events.report({ name: 'refused', code: 'too-many-requests', requester });
  }

  /** Answers of an indexer, with its words for an error, and what clients get if that is a failure. */
  sent(
    count: number,
    status: number,
    more: {
      readonly indexer?: string;
      readonly operation?: OperationName;
      readonly ms?: number;
      readonly words?: string;
      readonly isForHead?: true;
    } = {},
  ): void {
    const { indexer = 'a', operation = 'pendingTraces', ms = 10, words, isForHead } = more;
    const its = { indexer, operation, ms, ...(isForHead && { isForHead }) };
    const says = words === undefined ? {} : { says: { words, retryAfterMs: undefined } };
    for (let time = 0; time < count; time++) {
      this.events.report({ name: 'upstream-answered', ...its, status, ...says });
      const code = { 302: 'upstream-redirect', 401: 'upstream-unauthorized', 403: 'upstream-unauthorized' } as const;
      if (status >= 300 && status !== 404 && status !== 422 && status !== 400 && status !== 429)
        this.events.report({
          name: 'upstream-useless',
          indexer,
          operation,
          status,
          code: code[status as 302] ?? 'upstream-error',
          ...says,
        });
    }
  }

  /** Requests that got no answer of an indexer. */
  unanswered(
    count: number,
    code: 'upstream-unreachable' | 'upstream-timeout' | 'upstream-reset',
    more: { readonly indexer?: string; readonly cause?: Error; readonly isForHead?: true } = {},
  ): void {
    const { indexer = 'a', cause, ...asked } = more;
    const operation = more.isForHead ? 'masterchainInfo' : 'pendingTraces';
    for (let time = 0; time < count; time++)
      this.events.report({ name: 'upstream-failed', indexer, operation, ms: 10, code, cause, ...asked });
  }

  /** Lets this many seconds pass, in each of which the rest happens. */
  pass(seconds: number, happens: () => void = () => {}): void {
    for (let second = 0; second < seconds; second++) {
      happens();
      this.now += 1000;
      this.#tell();
    }
  }

  /** The first line, without its age. */
  get line(): string {
    const first = this.episodes.all.find(({ isOver }) => !isOver);
    return firstLine(first, this.indexers.length, this.now).replace(/ for \S+ \S+?:/, ':');
  }

  /** All that is told, the worst first. */
  get told(): readonly string[] {
    return this.conditions.active.map(({ level, says }) => `${level}: ${says}`);
  }

  get level() {
    return LEVELS[this.conditions.level];
  }
}

export const TIMEOUT = failure('upstream-timeout');
export const ANSWERED_500 = failure('upstream-error', { upstreamStatus: 500, values: { status: 500 } });
