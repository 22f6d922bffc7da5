import { failure, overloaded, type ProxyError } from '../../../src/errors.ts';
import { EventHub } from '../../../src/event-hub.ts';
import type { RefusedReason } from '../../../src/failures/refusals.ts';
import { LEVELS } from '../../../src/tell/conditions.ts';
import { Counted } from '../../../src/tell/counted.ts';
import { countEvents } from '../../../src/tell/event-counts.ts';
import { IndexerErrors } from '../../../src/tell/indexer-errors.ts';
import { Metrics } from '../../../src/tell/metrics.ts';
import { Conditions, firstLine } from '../../../src/tell/present-conditions.ts';
import { tellRedis } from '../../../src/tell/redis-outage.ts';
import { type Crowd, Served, slowMsOf } from '../../../src/tell/served.ts';
import { statesTeller } from '../../../src/tell/states.ts';
import type { OperationName } from '../../../src/ton/operation-names.ts';

const NO_CROWD: Crowd = { waiting: 0, waitingClients: 0, waitingShare: 0, askingShare: 0 };
const HEALTHY = { lastWord: undefined, fallenBlocks: 0, oldestBlock: undefined };

/** One of the indexers, whose state a test sets. */
interface Told {
  readonly name: string;
  readonly isBackup: boolean;
  head: {
    lastWord: { readonly ageMs: number | undefined; readonly sameForMs: number } | undefined;
    fallenBlocks: number;
    oldestBlock: number | undefined;
  };
  readonly polls: { isUnresponsive: boolean };
  readonly open: Set<string>;
}

/** All that tells operators about a proxy, without the proxy: a test says what happens, and reads the first line. */
export class TellingWorld {
  now = 1_000_000;
  crowd = NO_CROWD;
  aheadMs = 0;
  readonly logOutput = { dropped: 0, waitingBytes: 0 };
  readonly log: string[] = [];
  readonly events = new EventHub();
  readonly conditions: Conditions;
  readonly indexers: readonly Told[];
  readonly errors: IndexerErrors;
  readonly counted: Counted;
  readonly #tell: () => void;

  /** Names of indexers; one that begins with `backup` is a backup. */
  constructor(names: readonly string[] = ['a']) {
    const now = () => this.now;
    this.indexers = names.map((name) => ({
      name,
      isBackup: name.startsWith('backup'),
      head: { ...HEALTHY },
      polls: { isUnresponsive: false },
      open: new Set<string>(),
    }));
    this.conditions = new Conditions({
      now,
      indexers: this.indexers,
      onBegin: ({ name, level }) => this.log.push(`${level} ${name}`),
      onEnd: ({ name }, lastedMs) => this.log.push(`over ${name} ${lastedMs / 1000}`),
    });
    const { events, conditions, indexers } = this;
    this.errors = new IndexerErrors({
      events,
      conditions,
      now,
      backups: names.filter((it) => it.startsWith('backup')),
    });
    tellRedis(events, conditions, now);
    const { errors } = this;
    const timeoutMs = 5000;
    const slowMs = slowMsOf(timeoutMs);
    const metrics = new Metrics(events);
    const counted = new Counted({ counts: countEvents({ metrics, events, operations: [], timeoutMs, slowMs }), now });
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
      askHeads: () => {},
    });
    const states = statesTeller({
      ...{ conditions, errors, counted, now, logOutput: this.logOutput, hasRedis: true },
      ...this.#states(),
    });
    this.#tell = () => {
      states();
      served.tell();
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
                get isClosed() {
                  return !indexer.open.has(operation);
                },
                isOpen: false,
                retryAfterMs: 0,
                admit: () => undefined,
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
    outcome: 'hit-memory' | 'hit-redis' | 'hit-proven' | 'stale' | 'miss' = 'hit-memory',
    operation: OperationName = 'pendingTraces',
  ): void {
    for (let time = 0; time < count; time++) this.events.report({ name: 'answered', operation, outcome });
  }

  /** Requests that failed like this. */
  failed(count: number, error: ProxyError, operation: OperationName = 'pendingTraces'): void {
    for (let time = 0; time < count; time++) {
      this.events.report({ name: 'answered', operation, outcome: 'failed' });
      this.events.report({ name: 'failed', operation, error });
    }
  }

  /** Requests that were refused for this reason. */
  refused(
    count: number,
    reason: Exclude<RefusedReason, 'client-limit'>,
    operation: OperationName = 'pendingTraces',
  ): void {
    for (let time = 0; time < count; time++) this.events.report({ name: 'load-refused', operation, reason });
    this.failed(count, overloaded(reason, 0), operation);
  }

  /** Requests above the limit of their client. */
  limited(count: number): void {
    for (let time = 0; time < count; time++) {
      this.events.report({ name: 'client-limited', client: '10.0.7.0/24' });
      this.events.report({ name: 'refused', code: 'too-many-requests' });
    }
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
    } = {},
  ): void {
    const { indexer = 'a', operation = 'pendingTraces', ms = 10, words } = more;
    const says = words === undefined ? {} : { says: { words, retryAfterMs: undefined } };
    for (let time = 0; time < count; time++) {
      this.events.report({ name: 'upstream-answered', indexer, operation, ms, status, ...says });
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
    more: { readonly indexer?: string; readonly cause?: Error } = {},
  ): void {
    const { indexer = 'a', cause } = more;
    for (let time = 0; time < count; time++)
      this.events.report({ name: 'upstream-failed', indexer, operation: 'pendingTraces', ms: 10, code, cause });
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
    const { level, active } = this.conditions;
    return firstLine(level, active[0], this.now).replace(/ for \S+ \S+?:/, ':');
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
