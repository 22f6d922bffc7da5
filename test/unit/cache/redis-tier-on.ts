import { vi } from 'vitest';
import { redisKeyFor } from '../../../src/cache/redis-key.ts';
import {
  RedisTier,
  type RedisTierDependencies,
  type RedisTierEvent,
  type RedisTierOptions,
} from '../../../src/cache/redis-tier.ts';
import type { RedisConnection, RedisScripting } from '../../../src/redis/connect.ts';
import { anEntry, asTheyAre } from '../../support/entry.ts';

export const BUDGET_MS = 50;
export const OPEN_MS = 1000;
export const FAULTS = 3;
export const entry = anEntry({ askedAt: 1_700_000_000_000 });

type TierParts = Partial<RedisTierOptions & Pick<RedisTierDependencies, 'toStore'>>;

/** A tier on a connection whose answers each test writes itself. */
export function tierOn(
  answers: Partial<RedisConnection & RedisScripting>,
  { toStore = asTheyAre, ...options }: TierParts = {},
) {
  const connection = {
    getBuffer: vi.fn(answers.getBuffer ?? (async () => undefined)),
    getStart: vi.fn(answers.getStart ?? (async () => Buffer.alloc(0))),
    set: async () => {},
    runScript: vi.fn(answers.runScript ?? (async () => 1)),
    close: async () => {},
  };
  const events: RedisTierEvent[] = [];
  const tier = new RedisTier(
    {
      connection,
      redisKey: redisKeyFor('toncache:test:'),
      toStore,
      now: Date.now,
      monotonic: () => performance.now(),
      report: (event) => events.push(event),
    },
    {
      budgetMs: BUDGET_MS,
      breaker: { faults: FAULTS, openMs: OPEN_MS },
      maxPendingWrites: 10,
      maxPendingWriteBytes: 1000,
      ...options,
    },
  );
  const outcomesOf = (name: 'redis-read' | 'redis-write') =>
    events.flatMap((event) => (event.name === name ? [event.outcome] : []));
  const transitions = () => events.filter((event) => event.name === 'redis-available');
  return { tier, connection, events, outcomesOf, transitions };
}

export const refuses = () => Promise.reject(new Error('LOADING'));
