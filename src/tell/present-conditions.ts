import type { MonotonicMs, Ms } from '../time-units.ts';
import { betterReason } from './best-reason.ts';
import { CAUSES_OF_INDEXER, CONDITIONS, type ConditionName, type ConditionRow, type Level } from './conditions.ts';
import type { Condition } from './episode.ts';
import { ofIndexers } from './plural.ts';

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
  /** What it means for clients: `50 % of requests fail`; default: that of its row. */
  readonly effect?: string | undefined;
}

/** Other words than those with which a condition was set. */
interface Shown {
  readonly why?: string;
  readonly effect?: string;
}

interface State extends Who {
  readonly name: ConditionName;
  readonly since: MonotonicMs;
  why: string;
  effect: string | undefined;
  /** In place of its reason and its effect, since it was last set. */
  shown: Shown;
  because: ConditionName;
  lasts: boolean;
  setAt: MonotonicMs;
  clearAt: MonotonicMs | undefined;
}

/** A condition ends when it has been clear for this long: one that comes and goes is one. */
const ENDS_AFTER_MS: Ms = 15_000;

/** A condition that nothing holds ends when it was not set again for this long. */
const FORGOTTEN_AFTER_MS: Ms = 60_000;

const NAMES = Object.keys(CONDITIONS) as ConditionName[];

/** The states that operators must know. Whoever knows one sets and clears it; nobody infers it. */
export class Conditions {
  readonly #now: () => MonotonicMs;
  readonly #indexers: readonly { readonly name: string; readonly isBackup: boolean }[];
  readonly #states = new Map<string, State>();
  /** Every condition that has been told, by the labels of the metric. */
  readonly #told = new Map<string, Readonly<Record<'name' | 'level' | 'upstream' | 'operation', string>>>();

  /** `indexers`: all, by host and port. */
  constructor(now: () => MonotonicMs, indexers: readonly { readonly name: string; readonly isBackup: boolean }[]) {
    this.#now = now;
    this.#indexers = indexers;
  }

  /** It is true now. Set again, it keeps its beginning and takes the reason that explains more. */
  set(name: ConditionName, who: Who = {}, why = '', { lasts = false, because = name, effect }: SetOptions = {}): void {
    this.tick();
    const now = this.#now();
    const key = keyOf(name, who);
    const known = this.#states.get(key);
    const fresh = { because, effect, setAt: now, clearAt: undefined, shown: {} };
    if (known === undefined) this.#states.set(key, { name, ...who, why, lasts, since: now, ...fresh });
    else {
      known.why = betterReason(known.why, why);
      known.lasts = lasts || (known.lasts && known.clearAt === undefined);
      Object.assign(known, fresh);
    }
  }

  /** It is not true now. */
  clear(name: ConditionName, who: Who = {}): void {
    const known = this.#states.get(keyOf(name, who));
    if (known !== undefined) known.clearAt ??= this.#now();
    this.tick();
  }

  /** Shows another reason or effect until it is set again. */
  say(name: ConditionName, who: Who, words: Shown): void {
    const known = this.#states.get(keyOf(name, who));
    if (known !== undefined) known.shown = words;
  }

  turn(isTrue: boolean, name: ConditionName, who: Who = {}, why = '', options: SetOptions = {}): void {
    if (isTrue) this.set(name, who, why, options);
    else this.clear(name, who);
  }

  /** Ends the conditions that are over. Call about once a second. */
  tick(): void {
    const now = this.#now();
    for (const [key, state] of this.#states) {
      const { endsAfterMs = ENDS_AFTER_MS }: ConditionRow = CONDITIONS[state.name];
      const isClear = state.clearAt !== undefined && now - state.clearAt >= endsAfterMs;
      if (isClear || (!state.lasts && now - state.setAt >= FORGOTTEN_AFTER_MS)) this.#states.delete(key);
    }
  }

  /** The present conditions, the worst first. */
  get active(): readonly Condition[] {
    this.tick();
    const rank = (state: State) => ORDER.indexOf(this.#levelOf(state)) * NAMES.length + NAMES.indexOf(state.name);
    return [...this.#states.values()]
      .filter((state) => !this.#isReplaced(state))
      .sort((a, b) => rank(a) - rank(b) || a.since - b.since)
      .map((state) => this.#shown(state));
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
    const { name, because, upstream, operation, shown, since, setAt, clearAt, lasts } = state;
    const row: ConditionRow = CONDITIONS[name];
    const who = upstream === undefined || this.#indexers.length === 1 ? 'the indexer' : upstream;
    const effect = shown.effect ?? state.effect ?? row.effect?.replace('{who}', who) ?? '';
    const { why = state.why } = shown;
    const words = upstream === undefined ? ofIndexers(why, this.#indexers.length) : why;
    const cause = sentenceOf(row.says, { who, operation: operation ?? '', why: words });
    const says = [effect, cause].filter((part) => part !== '').join(': ');
    const { section } = CONDITIONS[because];
    // Without a holder nothing clears it.
    const trueUntil = clearAt ?? (lasts || this.#now() - setAt < ENDS_AFTER_MS ? undefined : setAt);
    const level = this.#levelOf(state);
    return { name, because, level, upstream, operation, effect, why, says, section, since, trueUntil };
  }

  /** True if it is over, and another cause of its indexer is true now. */
  #isReplaced({ name, upstream, clearAt }: State): boolean {
    const isCause = CAUSES_OF_INDEXER.includes(name) && clearAt !== undefined;
    return isCause && this.named(CAUSES_OF_INDEXER, upstream).length > 0;
  }

  #levelOf({ name, operation }: State): Level {
    const { level, ifAll }: ConditionRow = CONDITIONS[name];
    if (ifAll === undefined) return level;
    const replicas = this.#indexers.filter(({ isBackup }) => !isBackup);
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
