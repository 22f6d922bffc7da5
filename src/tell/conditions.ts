import { FAILURES } from '../failures/codes.ts';
import { REFUSED } from '../failures/refusals.ts';
import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import { betterReason } from './best-reason.ts';

/** `failing`: clients get no answer, or a wrong one. `degraded`: they get answers, not as usual. `note`: no alert. */
export type Level = 'failing' | 'degraded' | 'note';

/** How clients are served, in one word. The metric `toncache_verdict` is the index. */
export const LEVELS = ['OK', 'DEGRADED', 'FAILING'] as const;

interface ConditionRow {
  readonly level: Level;
  /**
   * `{who}` is the name of the indexer, or "the indexer" if there is one; `{why}` the reason. A reason without a
   * place is added in brackets.
   */
  readonly says: string;
  /** The section of docs/incidents.md. */
  readonly section: string;
  /** The alert rule of config/prometheus/alerts.yml, if it does not wait for {@link Level}'s own. */
  readonly alert?: string;
  /** The level while it is true of every indexer but backups. */
  readonly ifAll?: Level;
  /** It ends when it has been clear for this long. */
  readonly endsAfterMs?: Ms;
}

function row(
  level: Level,
  says: string,
  section: string,
  more: Omit<ConditionRow, 'level' | 'says' | 'section'> = {},
): ConditionRow {
  return { level, says, section, ...more };
}

const wordsOf = ({ operatorReads }: { readonly operatorReads: string }) => operatorReads.replace('{indexer}', '{who}');

const LEFT = { alert: 'ToncacheIndexerLeft' };
const OUTDATED = { alert: 'ToncacheOutdated', ifAll: 'failing' } as const;

/** Every state that an operator must know, the worst first. */
export const CONDITIONS = {
  'no-answer': row('failing', '{why}', 'a-partial-outage', { alert: 'ToncacheRefusing', endsAfterMs: 60_000 }),
  'limited-most': row(
    'failing',
    '{why}; if that is your proxy, set TRUSTED_PROXIES',
    'clients-ask-for-more-than-their-limit',
    { alert: 'ToncacheRefusing', endsAfterMs: 60_000 },
  ),
  'head-fell': row(
    'degraded',
    'outdated answers: the newest block of {who} fell back by {why} blocks',
    'the-newest-block-fell-back',
    OUTDATED,
  ),
  'head-still': row(
    'degraded',
    'outdated answers: the newest block of {who} has been the same for {why}',
    'the-newest-block-stands-still',
    OUTDATED,
  ),
  'head-old': row(
    'degraded',
    'outdated answers: the newest block of {who} is {why} old',
    'the-newest-block-is-old',
    OUTDATED,
  ),
  'other-chain': row('degraded', wordsOf(REFUSED['other-chain']), 'the-indexer-follows-another-chain', {
    ...LEFT,
    ifAll: 'failing',
  }),
  'backup-in-use': row('degraded', 'served by the backup {who}: {why}', 'served-by-the-backup', {
    alert: 'ToncacheBackupInUse',
  }),
  'key-refused': row('degraded', '{who} {why}', 'the-indexer-fails', LEFT),
  'not-reached': row('degraded', wordsOf(FAILURES['upstream-unreachable']), 'the-indexer-fails', LEFT),
  'breaker-open': row('note', '{who} {why}; its circuit breaker is open', 'the-indexer-fails', {
    alert: 'ToncacheBreakerOpen',
    ifAll: 'degraded',
  }),
  'indexer-fails': row('degraded', '{who} {why}', 'the-indexer-fails', LEFT),
  paused: row('degraded', wordsOf(REFUSED.paused), 'the-indexer-asked-for-a-pause', {
    alert: 'ToncachePaused',
  }),
  'lacks-block': row(
    'degraded',
    '{who} lacks a block that it named, so its 404s may be wrong',
    'the-indexer-lacks-blocks',
    LEFT,
  ),
  overloaded: row('degraded', '{why}', 'more-requests-than-the-indexer-can-answer'),
  slow: row('degraded', '{why}', 'slow-answers', { alert: 'ToncacheSlow' }),
  'no-sockets': row('degraded', wordsOf(REFUSED.sockets), 'this-process-can-open-no-more-connections'),
  'process-memory': row('degraded', wordsOf(REFUSED.memory), 'this-process-has-hardly-any-memory-left'),
  'redis-unavailable': row('degraded', 'serving from memory alone: Redis is away', 'redis-is-away', {
    alert: 'ToncacheRedisAway',
  }),
  'purges-missed': row(
    'degraded',
    'purges of other instances cannot be read, so entries in Redis are not used',
    'redis-is-away',
    { alert: 'ToncacheRedisAway' },
  ),
  'rate-not-shared': row(
    'degraded',
    'the rate limit is not shared: Redis fails, so this instance uses the whole rate of {who} by itself',
    'redis-is-away',
  ),
  'not-served': row(
    'note',
    '{who} does not serve {operation}: {why}; clients get 501 if no other does',
    'serving-without-an-operation',
    { ifAll: 'degraded' },
  ),
  behind: row('degraded', '{who} is behind: the other indexers are used', 'serving-without-an-indexer', LEFT),
  silent: row(
    'degraded',
    '{who} is unresponsive: it does not answer head polls, so its lag is unknown',
    'an-indexer-does-not-say-its-newest-block',
    LEFT,
  ),
  'no-head': row(
    'note',
    '{who} does not answer as an indexer: {why}; is its address right?',
    'an-indexer-does-not-say-its-newest-block',
  ),
  'connections-refused': row(
    'degraded',
    'connections of clients are refused: too many are open',
    'toncacheconnectionsrefused',
    { alert: 'ToncacheConnectionsRefused' },
  ),
  'older-answers': row('degraded', 'answers were served that are older than earlier ones', 'older-answers-were-served'),
  'clock-wrong': row('degraded', '{why}', 'a-clock-is-wrong', { alert: 'ToncacheClockWrong' }),
  'memory-small': row('degraded', 'memory is full: {why}', 'memory-is-too-small', {
    alert: 'ToncacheMemoryTooSmall',
  }),
  'log-blocked': row('degraded', 'the log cannot be written', 'toncacheloglinesdropped', {
    alert: 'ToncacheLogLinesDropped',
  }),
  'shutting-down': row('degraded', wordsOf(FAILURES['shutting-down']), 'this-instance-is-shutting-down'),
  bug: row('degraded', 'this should not happen: please report it', 'this-should-not-happen'),
  'one-client': row('note', '{why}', 'more-requests-than-the-indexer-can-answer'),
  'client-limited': row('note', '{why}; all others are answered', 'clients-ask-for-more-than-their-limit'),
  'short-history': row('note', '{why}', 'an-indexer-has-a-shorter-history'),
  'key-paused': row('note', wordsOf(REFUSED['key-paused']), 'the-indexer-asked-for-a-pause'),
  'indexer-error': row('note', '{who} {why}', 'the-indexer-fails'),
} as const satisfies Record<string, ConditionRow>;

/** The name of a row of {@link CONDITIONS}. */
export type ConditionName = keyof typeof CONDITIONS;

/** The subject of a condition: an indexer (host and port), an operation, both or neither. Never a client. */
export interface Who {
  readonly upstream?: string | undefined;
  readonly operation?: string | undefined;
}

/** How a condition is set. */
export interface SetOptions {
  /** True while something holds it that reports its end: a circuit, a pause, a connection, the last head poll. */
  readonly lasts?: boolean;
  /** The condition that explains this one: its section has the steps. */
  readonly because?: ConditionName | undefined;
}

/** A condition that is true now, or was a moment ago. */
export interface Condition {
  readonly name: ConditionName;
  readonly level: Level;
  readonly upstream?: string | undefined;
  readonly operation?: string | undefined;
  /** The reason, in the words of the other side; may be empty. */
  readonly why: string;
  /** In words, with the reason. */
  readonly says: string;
  /** The section of docs/incidents.md with the steps. */
  readonly section: string;
  /** Its beginning. */
  readonly since: MonotonicMs;
}

interface State extends Who {
  readonly name: ConditionName;
  readonly since: MonotonicMs;
  why: string;
  because: ConditionName;
  lasts: boolean;
  /** The level that {@link ConditionsDependencies.onBegin} was called with. */
  told: Level;
  setAt: MonotonicMs;
  clearAt: MonotonicMs | undefined;
}

/** A condition ends when it has been clear for this long: one that comes and goes is one. */
const ENDS_AFTER_MS: Ms = 15_000;

/** A condition that nothing holds ends when it was not set again for this long. */
const FORGOTTEN_AFTER_MS: Ms = 60_000;

const NAMES = Object.keys(CONDITIONS) as ConditionName[];

export interface ConditionsDependencies {
  readonly now: () => MonotonicMs;
  /** All indexers, by host and port. */
  readonly indexers: readonly { readonly name: string; readonly isBackup: boolean }[];
  /** Called at the beginning, and when it becomes worse because it is now true of every indexer. */
  readonly onBegin: (condition: Condition) => void;
  /** Called at the end. */
  readonly onEnd: (condition: Condition, lastedMs: Ms) => void;
}

/** The states that operators must know. Whoever knows one sets and clears it; nobody infers it. */
export class Conditions {
  readonly #dependencies: ConditionsDependencies;
  readonly #states = new Map<string, State>();
  /** Every condition that has been told, by the labels of the metric. */
  readonly #told = new Map<string, Readonly<Record<'name' | 'level' | 'upstream' | 'operation', string>>>();

  constructor(dependencies: ConditionsDependencies) {
    this.#dependencies = dependencies;
  }

  /** It is true now. Set again, it keeps its beginning and takes the reason that explains more. */
  set(name: ConditionName, who: Who = {}, why = '', { lasts = false, because = name }: SetOptions = {}): void {
    this.tick();
    const now = this.#dependencies.now();
    const key = keyOf(name, who);
    const known = this.#states.get(key);
    if (known !== undefined) {
      if (why !== '') known.why = betterReason(known.why || undefined, why);
      known.lasts = lasts || (known.lasts && known.clearAt === undefined);
      Object.assign(known, { because, setAt: now, clearAt: undefined });
      return;
    }
    const { level } = CONDITIONS[name];
    const state: State = {
      name,
      ...who,
      why,
      because,
      lasts,
      told: level,
      since: now,
      setAt: now,
      clearAt: undefined,
    };
    this.#states.set(key, state);
    state.told = this.#levelOf(state);
    this.#dependencies.onBegin(this.#shown(state));
    this.tick();
  }

  /** It is not true now. */
  clear(name: ConditionName, who: Who = {}): void {
    const known = this.#states.get(keyOf(name, who));
    if (known !== undefined) known.clearAt ??= this.#dependencies.now();
    this.tick();
  }

  /** Changes the reason of a present condition, and neither its beginning nor its end. */
  say(name: ConditionName, who: Who, why: string): void {
    const known = this.#states.get(keyOf(name, who));
    if (known !== undefined) known.why = why;
  }

  /** Sets or clears it. */
  turn(isTrue: boolean, name: ConditionName, who: Who = {}, why = '', options: SetOptions = {}): void {
    if (isTrue) this.set(name, who, why, options);
    else this.clear(name, who);
  }

  /** Ends the conditions that are over. Call about once a second. */
  tick(): void {
    const now = this.#dependencies.now();
    for (const [key, state] of this.#states) {
      const { endsAfterMs = ENDS_AFTER_MS }: ConditionRow = CONDITIONS[state.name];
      const isClear = state.clearAt !== undefined && now - state.clearAt >= endsAfterMs;
      if (!isClear && (state.lasts || now - state.setAt < FORGOTTEN_AFTER_MS)) {
        const { told } = state;
        state.told = this.#levelOf(state);
        if (ORDER.indexOf(state.told) < ORDER.indexOf(told)) this.#dependencies.onBegin(this.#shown(state));
        continue;
      }
      this.#states.delete(key);
      this.#dependencies.onEnd(this.#shown(state), now - state.since);
    }
  }

  /** The present conditions, the worst first. */
  get active(): readonly Condition[] {
    this.tick();
    const rank = ({ level, name }: Condition) => ORDER.indexOf(level) * NAMES.length + NAMES.indexOf(name);
    return [...this.#states.values()]
      .map((state) => this.#shown(state))
      .sort((a, b) => rank(a) - rank(b) || a.since - b.since);
  }

  /** The present ones of these names, of one indexer if it is given, that were not cleared: the newest last. */
  named(names: readonly ConditionName[], upstream?: string): readonly Condition[] {
    return [...this.#states.values()]
      .filter((state) => names.includes(state.name) && state.clearAt === undefined)
      .filter((state) => upstream === undefined || state.upstream === upstream)
      .map((state) => this.#shown(state));
  }

  /** The index in {@link LEVELS}. */
  get level(): number {
    const [worst] = this.active;
    return worst === undefined ? 0 : { failing: 2, degraded: 1, note: 0 }[worst.level];
  }

  /** 1 for each present condition, 0 for each earlier one. */
  get samples(): readonly { readonly value: number; readonly labels: Readonly<Record<string, string>> }[] {
    const present = new Set<string>();
    for (const { name, level, upstream = '', operation = '' } of this.active) {
      const labels = { name, level, upstream, operation };
      const key = Object.values(labels).join('\n');
      present.add(key);
      this.#told.set(key, labels);
    }
    return [...this.#told].map(([key, labels]) => ({ value: Number(present.has(key)), labels }));
  }

  #shown(state: State): Condition {
    const { name, upstream, operation, why, because, since } = state;
    return {
      name,
      level: this.#levelOf(state),
      ...(upstream !== undefined && { upstream }),
      ...(operation !== undefined && { operation }),
      why,
      says: sentenceOf(CONDITIONS[name].says, { who: this.#nameOf(upstream), operation: operation ?? '', why }),
      section: CONDITIONS[because].section,
      since,
    };
  }

  #nameOf(upstream: string | undefined): string {
    return upstream === undefined || this.#dependencies.indexers.length === 1 ? 'the indexer' : upstream;
  }

  #levelOf({ name, operation }: State): Level {
    const { level, ifAll }: ConditionRow = CONDITIONS[name];
    if (ifAll === undefined) return level;
    const replicas = this.#dependencies.indexers.filter(({ isBackup }) => !isBackup);
    const isOfAll = replicas.every(({ name: upstream }) => this.#states.has(keyOf(name, { upstream, operation })));
    return isOfAll ? ifAll : level;
  }
}

const ORDER: readonly Level[] = ['failing', 'degraded', 'note'];

const keyOf = (name: ConditionName, { upstream = '', operation = '' }: Who) => `${name}\n${upstream}\n${operation}`;

/** Words with a reason in brackets. The words of an indexer begin with its status, which the sentence may contain. */
export function withReason(words: string, why: string): string {
  if (why === '') return words;
  // A port may contain the same digits as the status: 40131.
  const [, status = '', said = ''] = /^(\d{3}): (.*)$/.exec(why) ?? [];
  return `${words} (${status !== '' && words.split(/\W+/).includes(status) ? said : why})`;
}

function sentenceOf(template: string, values: { readonly [name in 'who' | 'operation' | 'why']: string }): string {
  const { why } = values;
  const filled = template.replace(/\{(who|operation|why)\}/g, (_, name: keyof typeof values) => values[name]);
  return template.includes('{why}') ? filled : withReason(filled, why);
}

/** The first line for operators: the level, and the worst condition with its age. */
export function firstLine(level: number, worst: Condition | undefined, now: MonotonicMs): string {
  const word = LEVELS[level] ?? LEVELS[0];
  if (level === 0 || worst === undefined) return `${word}: serving as usual`;
  return `${word} for ${duration(1000 * Math.max(1, Math.round((now - worst.since) / 1000)))}: ${worst.says}`;
}
