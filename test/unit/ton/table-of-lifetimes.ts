import type { AnswerClass, GrowingRule, LifetimeRule } from '../../../src/ton/finality.ts';
import type { GrowingPolicy, LifetimePolicies, LifetimePolicy } from '../../../src/ton/lifetime.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A row in the order of the table's columns, in milliseconds. */
function row(lifetime: number, staleWhileRevalidate: number, staleIfError: number): LifetimePolicy {
  return { lifetime, staleWhileRevalidate, staleIfError };
}

const GROWING: GrowingPolicy = {
  minLifetime: SECOND,
  maxLifetime: HOUR,
  ageDivisor: 10,
  staleWhileRevalidate: 30 * SECOND,
  staleIfError: 10 * MINUTE,
};

/** The agreed table of lifetimes, written out independently, so that tests can compare the defaults with it. */
export const TABLE: LifetimePolicies = {
  shardsFinal: row(24 * HOUR, 10 * MINUTE, 24 * HOUR),
  shardsFinalPage: row(10 * MINUTE, 10 * MINUTE, HOUR),
  shardsLive: row(400, 0, 0),
  adjacentFinal: row(HOUR, 10 * MINUTE, 24 * HOUR),
  adjacentGrowing: GROWING,
  adjacentLive: row(400, 0, 2 * SECOND),
  byHashFinal: row(HOUR, 10 * MINUTE, 24 * HOUR),
  byHashGrowing: GROWING,
  byHashLive: row(400, 0, 0),
  accountLive: row(400, 0, 0),
  pendingFinalized: row(SECOND, SECOND, 2 * SECOND),
  pendingLive: row(400, 400, 2 * SECOND),
  head: row(400, 400, 2 * SECOND),
  emptyOfBlock: row(2 * SECOND, 0, 0),
  empty: row(250, 0, 0),
  notFound: row(300, 0, 0),
};

/** The class of the answers under each rule. Answers under a rule that is not listed are growing. */
export const CLASSES: Readonly<Record<Exclude<LifetimeRule, GrowingRule>, AnswerClass>> = {
  shardsFinal: 'final',
  shardsFinalPage: 'final-page',
  shardsLive: 'live',
  adjacentFinal: 'final',
  adjacentLive: 'live',
  byHashFinal: 'final',
  byHashLive: 'live',
  accountLive: 'live',
  pendingFinalized: 'live',
  pendingLive: 'live',
  head: 'live',
  empty: 'absent',
  emptyOfBlock: 'absent',
  notFound: 'absent',
};
