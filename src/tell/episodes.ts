import type { MonotonicMs, Ms } from '../time-units.ts';
import { explainsMore } from './best-reason.ts';
import type { ConditionName, Level } from './conditions.ts';
import type { Condition, Episode } from './episode.ts';
import { causeOf } from './episode-words.ts';

/** The conditions of one fault: the first of a list explains most. */
const ROOTS: readonly (readonly ConditionName[])[] = [
  [
    ...([
      'key-refused',
      'not-reached',
      'paused',
      'key-paused',
      'indexer-fails',
      'indexer-error',
      'breaker-open',
      'no-head',
    ] as const),
    ...(['no-answer', 'one-unanswered', 'passed-fails', 'slow', 'silent', 'backup-in-use'] as const),
  ],
  ['head-fell', 'head-old', 'head-still'],
  ['redis-unavailable', 'purges-missed', 'rate-not-shared'],
  ['overloaded', 'one-client'],
  ['limited-most', 'client-limited'],
];

const rootOf = (name: ConditionName): readonly ConditionName[] => ROOTS.find((root) => root.includes(name)) ?? [name];

const RANKS = { note: 0, degraded: 1, failing: 2 } as const satisfies Record<Level, number>;

/** True if both causes have the same words, but for times and counts. */
function isSame(a: Episode['cause'], b: Episode['cause']): boolean {
  const [one, other] = [a, b].map((cause) =>
    causeOf({ cause, indexers: [], operations: 1, isTrue: true }, 2).replace(FIGURES, ''),
  );
  return one === other;
}

const FIGURES = /\d[\d.,]* (?:ms|s|min|h|d|blocks)\b/g;

/** A fault that becomes worse within this time was as bad from the beginning: it was only not known yet. */
const GROWS_MS: Ms = 15_000;

const MINUTE_MS: Ms = 60_000;

/** The episodes that are kept, of at most 6 KiB each, and the minutes of the strip. */
const [KEPT, MINUTES] = [10, 60];

/** An episode that is not over. */
type Open = { -readonly [name in keyof Episode]: Episode[name] } & {
  cause: Condition;
  /** The first name of its list in {@link ROOTS}. */
  readonly root: ConditionName | undefined;
  /** Every indexer and operation of its conditions so far. */
  readonly members: Set<string>;
  readonly named: Set<string>;
  /** Every indexer of which its cause was true: they do not recover at the same instant. */
  readonly had: Set<string>;
  conditions: Condition[];
  /** False before its beginning was told, and for the notes that an episode leaves behind. */
  isTold: boolean;
};

/** The place of a condition among those of its episode: 0 explains most. One that only has an effect explains least. */
function explainingIn({ root }: Open): (condition: Condition) => number {
  const order = root === undefined ? [] : rootOf(root);
  return ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
}

export interface EpisodesDependencies {
  readonly now: () => MonotonicMs;
  /** Called at its beginning, if it proves to be worse, and when a reason is learnt that explains more. */
  readonly onBegin: (episode: Episode) => void;
  readonly onEnd: (episode: Episode) => void;
}

/**
 * The truth that the first line, what happened, the strip and the log tell. Conditions of one root are one episode, of one
 * level, whatever their number. Notes are episodes for the log alone.
 */
export class Episodes {
  readonly #dependencies: EpisodesDependencies;
  #open: Open[] = [];
  /** The newest first. */
  readonly #over: Episode[] = [];
  /** By minute of the monotonic clock: the worst level that was told, and whether there was a request. */
  readonly #minutes = new Map<number, { readonly rank: number; readonly hasRequests: boolean }>();

  constructor(dependencies: EpisodesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Brings them up to date. Call about once a second. `hasRequests`: since the last call. */
  turn(present: readonly Condition[], hasRequests: boolean): void {
    for (const open of this.#open) open.conditions = [];
    // First those of an indexer: the others belong to an episode of theirs.
    const ofIndexers = present.filter(({ name, upstream }) => upstream !== undefined && name !== 'backup-in-use');
    for (const each of new Set([...ofIndexers, ...present])) this.#join(each);
    for (const open of [...this.#open]) this.#update(open);
    const minute = Math.floor(this.#dependencies.now() / MINUTE_MS);
    const { rank = 0, hasRequests: had = false } = this.#minutes.get(minute) ?? {};
    const worst = Math.max(rank, ...this.#open.map(({ level }) => RANKS[level]));
    this.#minutes.set(minute, { rank: worst, hasRequests: had || hasRequests });
    this.#minutes.delete(minute - MINUTES);
  }

  /** Those that are not over, the worst first, of these a true one, then the oldest; then the others, the newest first. No notes. */
  get all(): readonly Episode[] {
    const open = this.#open
      .filter(({ level }) => level !== 'note')
      .sort((a, b) => RANKS[b.level] - RANKS[a.level] || Number(b.isTrue) - Number(a.isTrue) || a.since - b.since);
    return [...open, ...this.#over].slice(0, KEPT);
  }

  /** The notes that are not over, the oldest first. */
  get notes(): readonly Episode[] {
    return this.#open.filter(({ level }) => level === 'note').sort((a, b) => a.since - b.since);
  }

  /** For each of the last 60 minutes, oldest first: 0 OK, 1 DEGRADED, 2 FAILING; `undefined` without requests. */
  get minutes(): { readonly since: MonotonicMs; readonly levels: readonly (number | undefined)[] } {
    const first = Math.floor(this.#dependencies.now() / MINUTE_MS) - MINUTES + 1;
    const levels = Array.from({ length: MINUTES }, (_, index) => {
      const { rank, hasRequests = false } = this.#minutes.get(first + index) ?? {};
      return hasRequests ? rank : undefined;
    });
    return { since: first * MINUTE_MS, levels };
  }

  /** Adds a condition to the episode of its root that has its indexer or its cause; or begins one. */
  #join(condition: Condition): void {
    const { name, because, operation, since, level } = condition;
    // It shows a fault of the others.
    const upstream = name === 'backup-in-use' ? undefined : condition.upstream;
    const order = rootOf(because);
    const [root] = order;
    const explaining = order.slice(0, order.indexOf(because));
    const ofRoot = this.#open.filter((open) => open.root === root);
    let open =
      upstream === undefined
        ? (ofRoot.find(({ cause }) => cause.name === because) ?? ofRoot[0])
        : (ofRoot.find(({ cause }) => isSame(cause, condition)) ??
          ofRoot.find(({ members }) => members.size === 0 || members.has(upstream)) ??
          // Slow responses also explain unanswered head polls, of any indexer.
          ofRoot.find(({ cause }) => cause.upstream === undefined && explaining.includes(cause.name)));
    if (open === undefined) {
      const until = undefined;
      const begun = { level, since, until, isOver: false, isTrue: true, effect: '', cause: condition };
      const sets = { members: new Set<string>(), named: new Set<string>(), had: new Set<string>() };
      open = { ...begun, ...sets, root, indexers: [], operations: 0, conditions: [], isTold: false };
      this.#open.push(open);
    }
    open.conditions.push(condition);
    if (upstream !== undefined) open.members.add(upstream);
    if (operation !== undefined) open.named.add(operation);
  }

  #update(open: Open): void {
    const { onBegin } = this.#dependencies;
    const explains = explainingIn(open);
    const [worst] = open.conditions.toSorted((a, b) => RANKS[b.level] - RANKS[a.level] || explains(a) - explains(b));
    if (worst === undefined) {
      const { root, members } = open;
      const isPart = (other: Open) => other.root === root && [...members].every((name) => other.members.has(name));
      // The cause of its indexers is that of others by now: it was one fault.
      if (this.#open.some((other) => other.conditions.length > 0 && isPart(other))) this.#remove(open);
      else this.#end(open);
      return;
    }
    const isWorse = RANKS[worst.level] > RANKS[open.level];
    // A condition that is worse if it is true of all has been so since the last one.
    const equal = open.conditions.filter(({ name, operation }) => name === worst.name && operation === worst.operation);
    const from = Math.max(...equal.map(({ since }) => since));
    if (worst.level !== open.level && open.isTold && !(isWorse && from - open.since <= GROWS_MS)) {
      // Its level was another one for a while: that is an episode of its own.
      const since = isWorse ? from : (open.until ?? from);
      this.#end({ ...open, until: isWorse ? since : open.until });
      const next = { ...open, had: new Set<string>(), since, level: worst.level, isTold: worst.level === 'note' };
      this.#open.push(next);
      this.#update(next);
      return;
    }
    const { isTold, cause: before } = open;
    open.level = worst.level;
    this.#learn(open, worst);
    const isLearnt = open.cause.name === before.name && explainsMore(before.why, open.cause.why);
    if (!isTold || isWorse || isLearnt) onBegin(open);
    open.isTold = true;
  }

  /** Reads effect, cause and end from its conditions. */
  #learn(open: Open, worst: Condition): void {
    const { conditions } = open;
    const ofLevel = conditions.filter(({ level }) => level === open.level);
    const ends = ofLevel.map(({ trueUntil = Number.POSITIVE_INFINITY }) => trueUntil);
    open.until = ends.includes(Number.POSITIVE_INFINITY) ? undefined : Math.max(...ends);
    open.effect = ofLevel.find(({ effect }) => effect !== '')?.effect ?? '';
    open.operations = open.named.size;
    const explains = explainingIn(open);
    const rank = (each: Condition) => (each.name === worst.because ? -1 : explains(each));
    const [cause] = conditions
      .filter(({ trueUntil }) => trueUntil === undefined)
      .sort((a, b) => rank(a) - rank(b) || b.since - a.since);
    open.isTrue = cause !== undefined;
    // What was true remains the cause while nothing else is.
    if (cause === undefined) return;
    if (!isSame(open.cause, cause)) open.had.clear();
    open.cause = cause;
    const its = conditions.filter((each) => each.trueUntil === undefined && isSame(each, cause));
    open.indexers = [...new Set(its.flatMap(({ upstream }) => upstream ?? []))].sort();
    for (const name of open.indexers) open.had.add(name);
  }

  #remove({ members }: Open): void {
    this.#open = this.#open.filter((other) => other.members !== members);
  }

  #end(open: Open): void {
    this.#remove(open);
    const { level, since, effect, cause, operations, had, until = this.#dependencies.now() } = open;
    const ended = { until, isOver: true, isTrue: false, indexers: [...had].sort() };
    const episode: Episode = { level, since, effect, cause, operations, ...ended };
    if (open.isTold) this.#dependencies.onEnd(episode);
    if (level === 'note') return;
    this.#over.unshift(episode);
    this.#over.splice(KEPT);
  }
}
