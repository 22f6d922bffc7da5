import { POLICIES } from '../ton/lifetime-table.ts';
import { duration, group, setting } from './values.ts';

/** 0 would mean no cache, and without an upper bound a wrong answer could stay for ever. */
const lifetime = (description: string) => setting(duration('1ms', '30d').optional(), description);

const { minLifetime, maxLifetime } = POLICIES.byHashGrowing;

/** The group `lifetimes`: each replaces the lifetime of some rows of the table of lifetimes, and no stale window. */
export const lifetimes = setting(
  group({
    final: lifetime('TTL of final responses. If not set, 24 h for blocks and 1 h for other responses.'),
    page: lifetime('TTL of a page of the blocks or transactions of a masterchain block. If not set, 10 min.'),
    growingMin: lifetime('Shortest TTL of growing responses. If not set, 1 s.'),
    growingMax: lifetime('Longest TTL of growing responses. If not set, 1 h.'),
    live: lifetime('TTL of live responses except pending traces, heads and get-method results. If not set, 400 ms.'),
    pending: lifetime('TTL of pending traces. If not set, 400 ms, or 1 s if all transactions are final.'),
    head: lifetime('TTL of `masterchainInfo`. If not set, 400 ms.'),
    notFound: lifetime('TTL of a cached 404. If not set, 300 ms.'),
  }).refine(({ growingMin = minLifetime, growingMax = maxLifetime }) => growingMin <= growingMax, {
    path: ['growingMin'],
    error: 'must not be longer than growingMax (1s and 1h if not set)',
  }),
  'Lifetimes that replace those of the table of lifetimes.',
);
