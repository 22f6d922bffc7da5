import type { ErrorCode } from '../errors.ts';
import type { EventHub } from '../event-hub.ts';
import { FAILURES } from '../failures/codes.ts';
import { sentenceOf } from '../failures/sentence.ts';
import type { OurCredentials } from '../indexer/credentials.ts';
import type { IndexerWords } from '../indexer/upstream-client.ts';
import { isGoodStatus, outcomeOfError, outcomeOfResult, outcomeOfStatus } from '../outcomes.ts';
import { reasonOf } from '../reason-of.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { OPERATIONS } from '../ton/operations.ts';
import { type Conditions, withReason } from './present-conditions.ts';
import { sayingOf } from './saying.ts';

/** An indexer that answered less than this ago can be reached, and accepts our key. */
const ANSWERING_MS: Ms = 10_000;

export interface IndexerErrorsDependencies {
  readonly events: EventHub;
  readonly conditions: Conditions;
  readonly now: () => MonotonicMs;
  /** All indexers, by host and port, with what identifies us there: backups have a key of their own. */
  readonly indexers: readonly {
    readonly name: string;
    readonly isBackup: boolean;
    readonly ours: Pick<OurCredentials, 'hasKey' | 'hasLogin'> | undefined;
  }[];
}

/** An error of an indexer, with its words. */
interface ErrorAnswer {
  readonly indexer: string;
  readonly operation: string;
  readonly status: number;
  readonly says?: IndexerWords | undefined;
}

/**
 * Says how requests to each indexer fail, in its own words. An indexer that answers nothing, or refuses our key for
 * everything, is said as such; any other failure is that of its operation.
 */
export class IndexerErrors {
  readonly #dependencies: IndexerErrorsDependencies;
  readonly #answeredAt = new Map<string, MonotonicMs>();
  readonly #heardOf = new Set<string>();
  /** By indexer: how its last failed request failed, and the words of its last 429. */
  readonly #last = new Map<string, string>();
  readonly #limits = new Map<string, string>();

  constructor(dependencies: IndexerErrorsDependencies) {
    this.#dependencies = dependencies;
    const { events, conditions, now } = dependencies;
    events.on('upstream-answered', (event) => {
      const { indexer, operation, status, says, isForHead } = event;
      const isFirst = !this.#heardOf.has(indexer);
      this.#heardOf.add(indexer);
      if (status === 429) this.#limits.set(indexer, sayingOf(status, says) ?? '429');
      const isKeyRefused = outcomeOfStatus(status) === 'refused-key';
      conditions.clear('not-reached', { upstream: indexer });
      // A passed-through request may have its client's key.
      if (operation !== 'passthrough' && !isKeyRefused) conditions.clear('key-refused', { upstream: indexer });
      if (operation !== 'passthrough' && isGoodStatus(status)) this.#answeredAt.set(indexer, now());
      // The meaning of an operation's answer is reported once it is read.
      if (isForHead !== true && OPERATIONS.has(operation)) return;
      if (isKeyRefused && operation !== 'passthrough') this.#keyRefused(event);
      // A failed head poll only shortens lifetimes. But the first one, at the start, shows what clients will get.
      else if (isFailure(event) && (isForHead !== true || isFirst))
        this.#fails(event, `answers ${status}`, sayingOf(status, says));
      else if (operation === 'passthrough' && says !== undefined && outcomeOfStatus(status) === 'redirect')
        this.#fails(event, doesWhat('upstream-redirect'), sayingOf(status, says));
    });
    events.on('upstream-useless', (event) => {
      const { code, status, says } = event;
      if (code === 'upstream-unauthorized') return this.#keyRefused(event);
      // For these the pause, and the guard of operations that are not served, say more.
      if (code === 'upstream-rate-limited' || code === 'not-served') return;
      if (code === 'upstream-error' && outcomeOfError(status) === 'client-error') return;
      const does = code === 'upstream-error' ? `answers ${status}` : doesWhat(code);
      this.#fails(event, does, sayingOf(status, says));
    });
    events.on('upstream-failed', (event) => {
      const { indexer, code, cause, isForHead } = event;
      const isFirst = !this.#heardOf.has(indexer);
      this.#heardOf.add(indexer);
      if (!code.startsWith('upstream-')) return;
      const [reason, upstream] = [reasonOf(cause), indexer];
      if (event.operation !== 'passthrough') conditions.clear('key-refused', { upstream });
      if (code === 'upstream-unreachable' && !this.isAnswering(indexer)) {
        this.#learn(indexer, withReason(doesWhat(code), reason ?? ''));
        return conditions.set('not-reached', { upstream }, reason, { lasts: true });
      }
      if (code !== 'upstream-unreachable') conditions.clear('not-reached', { upstream });
      if (isForHead !== true || isFirst) this.#fails(event, doesWhat(code), reason);
      // An indexer that is behind, or a backup, gets nothing else.
      else this.#learn(indexer, withReason(doesWhat(code), reason ?? ''));
    });
    events.on('upstream-unsent', ({ cause }) => conditions.set('no-sockets', {}, reasonOf(cause)));
    events.on('not-accepted', ({ cause }) => conditions.set('no-sockets', {}, reasonOf(cause)));
  }

  /** True if this indexer has answered requests in the last seconds. */
  readonly isAnswering = (indexer: string): boolean =>
    this.#dependencies.now() - (this.#answeredAt.get(indexer) ?? Number.NEGATIVE_INFINITY) < ANSWERING_MS;

  /** How requests to this indexer last failed: `answers 500 (words)`. */
  readonly last = (indexer: string): string => this.#last.get(indexer) ?? 'fails';

  /** The words of its last 429; empty without any. */
  readonly lastLimit = (indexer: string): string => this.#limits.get(indexer) ?? '';

  #keyRefused(event: ErrorAnswer): void {
    const { indexer, status, says } = event;
    const said = sayingOf(status, says);
    // A firewall in front of it refuses some requests; a wrong key is refused for all.
    if (this.isAnswering(indexer)) {
      this.#fails(event, `answers ${status}`, said);
      return;
    }
    const { conditions, indexers } = this.#dependencies;
    const itself = indexers.filter(({ name }) => name === indexer);
    const prefix = itself.some(({ isBackup }) => isBackup) ? 'UPSTREAM_BACKUP' : 'UPSTREAM';
    const { hasKey, hasLogin } = itself[0]?.ours ?? { hasKey: true, hasLogin: false };
    const names = [hasKey && ['API key', '_API_KEY'], hasLogin && ['login', '_URL']].filter((each) => each !== false);
    const refused = `refuses our ${names.map(([name]) => name).join(' or ')}`;
    const settings = names.map(([, end]) => prefix + end).join(' and ');
    const why = `${withReason(refused, said ?? String(status))}: check ${settings}`;
    this.#learn(indexer, why);
    conditions.set('key-refused', { upstream: indexer }, why, { lasts: true });
  }

  /** How its last failed request failed is the present cause of all its failures. */
  #learn(indexer: string, why: string): void {
    this.#last.set(indexer, why);
    this.#dependencies.conditions.say('indexer-fails', { upstream: indexer }, { why });
  }

  #fails({ indexer, operation }: Pick<ErrorAnswer, 'indexer' | 'operation'>, does: string, reason = ''): void {
    const why = withReason(does, reason);
    if (operation !== 'passthrough') this.#learn(indexer, why);
    this.#dependencies.conditions.set('indexer-error', { upstream: indexer, operation }, why);
  }
}

/** A client can cause most 4xx to a passed-through request. */
function isFailure({ operation, status }: Pick<ErrorAnswer, 'operation' | 'status'>): boolean {
  return status >= 500 || (operation !== 'passthrough' && outcomeOfResult(String(status)) === 'failed');
}

/** The operator's words for a failure, after the name of the indexer. */
function doesWhat(code: ErrorCode): string {
  return sentenceOf(FAILURES[code], '').trim();
}
