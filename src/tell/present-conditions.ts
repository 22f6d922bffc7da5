import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import { betterReason, explainsMore } from './best-reason.ts';
import { CONDITIONS, type ConditionName, type ConditionRow, LEVELS, type Level } from './conditions.ts';

/** The subject of a condition: an indexer (host and port), an operation, both or neither. Never a client. */
export interface Who {
  readonly upstream?: string | undefined;
  readonly operation?: string | undefined;
}

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
  readonly since: MonotonicMs;
}

interface State extends Who {
  readonly name: ConditionName;
  readonly since: MonotonicMs;
  why: string;
  /** In place of the reason, since it was last set. */
  shown: string | undefined;
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
  /**
   * Called at the beginning, when it becomes worse because it is now true of every indexer, and when a reason is learnt
   * that explains more.
   */
  readonly onBegin: (condition: Condition) => void;
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
      const isLearnt = explainsMore(known.why, why);
      known.why = betterReason(known.why, why);
      known.lasts = lasts || (known.lasts && known.clearAt === undefined);
      Object.assign(known, { because, setAt: now, clearAt: undefined, shown: undefined });
      if (isLearnt) this.#dependencies.onBegin(this.#shown(known));
      return;
    }
    const { level } = CONDITIONS[name];
    const state: State = {
      name,
      ...who,
      why,
      shown: undefined,
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

  /** Shows other words for its reason until it is set again. Its end is told with the reason. */
  say(name: ConditionName, who: Who, words: string): void {
    const known = this.#states.get(keyOf(name, who));
    if (known !== undefined) known.shown = words;
  }

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
      this.#dependencies.onEnd(this.#shown({ ...state, shown: undefined }), now - state.since);
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
    const { name, upstream, operation, because, since } = state;
    const why = state.shown ?? state.why;
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
