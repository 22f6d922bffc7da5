import type { Ms } from '../time-units.ts';

/**
 * How long an answer can stay true. `final`: immutable; `final-page`: immutable rows, but the database chooses the rows
 * of a page; `growing`: can gain rows, actions or states of accounts; `live`: changes from block to block; `absent`:
 * nothing is there yet.
 */
export type AnswerClass = 'final' | 'final-page' | 'growing' | 'live' | 'absent';

/** The times of a row. Both stale windows begin when the lifetime ends. */
export interface LifetimePolicy {
  readonly lifetime: Ms;
  /** The time for which a stale copy is served while it is refreshed (RFC 5861 3); never longer than the lifetime. */
  readonly staleWhileRevalidate: Ms;
  /** The time for which a stale copy is served when the indexer fails (RFC 5861 4) or a request is refused. */
  readonly staleIfError: Ms;
}

/**
 * The lifetime of a growing answer is a fraction of its age: the older its youngest row, the less likely is another
 * row.
 */
export interface GrowingPolicy extends Omit<LifetimePolicy, 'lifetime'> {
  readonly minLifetime: Ms;
  readonly maxLifetime: Ms;
  /** The lifetime is the age divided by this. */
  readonly ageDivisor: number;
}

/** A row of the table: one kind of answer. */
interface Row<Policy> {
  readonly answerClass: AnswerClass;
  readonly policy: Policy;
  /** The setting of the group `lifetimes` that replaces the lifetime; `growing`: `growingMin` and `growingMax`. */
  readonly setBy?: 'final' | 'page' | 'growing' | 'live' | 'pending' | 'head' | 'notFound';
  /** The row instead, if the block of the request was unknown: the indexer answers 404 if it lacks the block. */
  readonly ifBlockUnknown?: 'empty';
  /** True if the rows leave the answer once they are in the database, which happens first at the newest replica. */
  readonly endsOnceCommitted?: true;
  /** True for the newest state or page of one account, which only a newer one replaces. */
  readonly isOfAccount?: true;
}

const SECOND: Ms = 1000;
const MINUTE: Ms = 60 * SECOND;
const HOUR: Ms = 60 * MINUTE;

type Times = readonly [lifetime: Ms, staleWhileRevalidate: Ms, staleIfError: Ms];

type Facts = Omit<Row<never>, 'answerClass' | 'policy'>;

function row(answerClass: AnswerClass, times: Times, facts: Facts = {}): Row<LifetimePolicy> {
  const [lifetime, staleWhileRevalidate, staleIfError] = times;
  return { answerClass, policy: { lifetime, staleWhileRevalidate, staleIfError }, ...facts };
}

const GROWING: Row<GrowingPolicy> = {
  answerClass: 'growing',
  policy: {
    minLifetime: SECOND,
    maxLifetime: HOUR,
    ageDivisor: 10,
    staleWhileRevalidate: 30 * SECOND,
    staleIfError: 10 * MINUTE,
  },
  setBy: 'growing',
};

const FINAL: Facts = { setBy: 'final' };
const LIVE: Facts = { setBy: 'live' };
const PENDING: Facts = { setBy: 'pending' };

/** The table of lifetimes. An operation reports the row of an answer; everything else about it is read here. */
export const ROWS = {
  shardsFinal: row('final', [24 * HOUR, 10 * MINUTE, 24 * HOUR], FINAL),
  shardsFinalPage: row('final-page', [10 * MINUTE, 10 * MINUTE, HOUR], {
    setBy: 'page',
  }),
  shardsLive: row('live', [400, 0, 0], LIVE),
  adjacentFinal: row('final', [HOUR, 10 * MINUTE, 24 * HOUR], FINAL),
  adjacentGrowing: GROWING,
  adjacentLive: row('live', [400, 0, 2 * SECOND], LIVE),
  byHashFinal: row('final', [HOUR, 10 * MINUTE, 24 * HOUR], FINAL),
  byHashGrowing: GROWING,
  byHashLive: row('live', [400, 0, 0], LIVE),
  accountLive: row('live', [400, 0, 0], {
    ...LIVE,
    isOfAccount: true,
  }),
  /** Without a lifetime: it ran on the state of a lite server, which may be older than what a client has seen. */
  methodResult: row('live', [0, 0, 0]),
  pendingFinalized: row('live', [SECOND, SECOND, 2 * SECOND], {
    ...PENDING,
    endsOnceCommitted: true,
  }),
  pendingLive: row('live', [400, 400, 2 * SECOND], PENDING),
  head: row('live', [400, 400, 2 * SECOND], { setBy: 'head' }),
  empty: row('absent', [250, 0, 0]),
  emptyOfBlock: row('absent', [2 * SECOND, 0, 0], {
    ifBlockUnknown: 'empty',
  }),
  notFound: row('absent', [300, 0, 0], { setBy: 'notFound' }),
  /** Only for the clients that wait for it: without a lifetime, no tier stores it. */
  notKept: row('absent', [0, 0, 0]),
};

export type LifetimeRule = keyof typeof ROWS;

/** The rows whose lifetime is a fraction of the age of an answer's data. */
export type GrowingRule = {
  [Rule in LifetimeRule]: (typeof ROWS)[Rule] extends Row<GrowingPolicy> ? Rule : never;
}[LifetimeRule];

export type LifetimePolicies = { readonly [Rule in LifetimeRule]: (typeof ROWS)[Rule]['policy'] };

/** The table as it is without settings. */
export const POLICIES = mapped(({ policy }) => policy);

/** Settings that replace lifetimes, in milliseconds; unset, each row keeps its own. */
export type LifetimeSettings = {
  readonly [Name in Exclude<Row<never>['setBy'], 'growing' | undefined> | 'growingMin' | 'growingMax']?: Ms | undefined;
};

/** The rows with the lifetimes that are set. Stale windows stay; one never exceeds the lifetime when it is used. */
export function lifetimesWith(set: LifetimeSettings, policies: LifetimePolicies = POLICIES): LifetimePolicies {
  const { growingMin: minLifetime, growingMax: maxLifetime } = set;
  return mapped(({ setBy }, rule) => {
    const times = setBy === 'growing' ? { minLifetime, maxLifetime } : { lifetime: setBy && set[setBy] };
    const given = Object.entries(times).filter(([, time]) => time !== undefined);
    return { ...policies[rule], ...Object.fromEntries(given) };
  });
}

function mapped(policyOf: (row: Row<unknown>, rule: LifetimeRule) => unknown): LifetimePolicies {
  const rows = Object.entries(ROWS).map(([rule, each]) => [rule, policyOf(each, rule as LifetimeRule)]);
  // The cast: each row keeps its kind of policy.
  return Object.fromEntries(rows) as LifetimePolicies;
}
