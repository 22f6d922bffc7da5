import { POLICIES } from '../ton/lifetime-table.ts';
import { duration, group, setting } from './values.ts';

/** 0 would mean no cache, and without an upper bound a wrong answer could stay for ever. */
const lifetime = (description: string) => setting(duration('1ms', '30d').optional(), description);

const { minLifetime, maxLifetime } = POLICIES.byHashGrowing;

/** The group `lifetimes`: each replaces the lifetime of some rows of the table of lifetimes, and no stale window. */
export const lifetimes = setting(
  group({
    final: lifetime('Lifetime of final responses, instead of 24 h (block sets) and 1 h.'),
    page: lifetime('Lifetime of a page of a masterchain block, instead of 10 min.'),
    growingMin: lifetime('Shortest lifetime of growing responses, instead of 1 s.'),
    growingMax: lifetime('Longest lifetime of growing responses, instead of 1 h.'),
    live: lifetime(
      'Lifetime of live responses, instead of 400 ms; pending traces and the newest block have their own settings.',
    ),
    pending: lifetime('Lifetime of pending traces, instead of 400 ms, and 1 s if all transactions are final.'),
    head: lifetime('Lifetime of the newest masterchain block, instead of 400 ms.'),
    notFound: lifetime('Lifetime of a 404, instead of 300 ms.'),
  }).refine(({ growingMin = minLifetime, growingMax = maxLifetime }) => growingMin <= growingMax, {
    path: ['growingMin'],
    error: 'must not be longer than growingMax (1s and 1h if not set)',
  }),
  'Lifetimes that replace those of the table of lifetimes.',
);
