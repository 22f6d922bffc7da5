import { SHOWN_HOLDS_MS } from './chain-head.ts';
import type { KnownChainTime } from './known-chain-time.ts';
import { settledWithin } from './settled-within.ts';

/** What one instance tells the others. Its instants are not after `now`. */
export interface GivenChainTime extends KnownChainTime {
  /** When an answer last showed the head of the chain, epoch milliseconds; 0 for never. */
  readonly headSeenAt: number;
  /** Epoch milliseconds. */
  readonly now: number;
  /** A stored newest time later than this is garbage and is replaced. */
  readonly latestNewestAt: number;
  /** At most one instance may ask the indexer in so many milliseconds. 0: this instance does not want to ask. */
  readonly askEveryMs: number;
}

/** What all instances know, and whether this one may ask the indexer. */
export interface MergedChainTime extends KnownChainTime {
  /** When an answer last showed the head of the chain to any of them, epoch milliseconds; 0 for never. */
  readonly headSeenAt: number;
  readonly mayAsk: boolean;
}

/** The chain time that all instances of one indexer share. */
export interface SharedChainTime {
  /**
   * Tells what this instance knows and returns what all know; `undefined` if Redis does not answer in time. Never
   * rejects.
   */
  exchange(given: GivenChainTime): Promise<MergedChainTime | undefined>;
}

export interface ShareChainTimeDependencies {
  readonly runScript: (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
}

export interface ShareChainTimeOptions {
  /** The Redis key. Each indexer needs its own. */
  readonly key: string;
  /** How long Redis may take, in milliseconds. */
  readonly budgetMs: number;
}

/** When no instance has renewed it for so long, in milliseconds, the chain time is forgotten. */
const KEPT_MS = 60 * 60_000;

/** The clocks of instances differ by less than this, in milliseconds: an instant further ahead is garbage. */
const FURTHEST_APART_MS = 60_000;

/**
 * KEYS: a hash. ARGV: the fields of {@link GivenChainTime}, in the order of {@link shareChainTime}. Merges what instances
 * know by the rule of `known-chain-time.ts`. A stored instant that cannot be believed counts as 0.
 */
const EXCHANGE = `
local key, given = KEYS[1], { newestAt = tonumber(ARGV[1]), shownAt = tonumber(ARGV[2]) }
local headSeenAt, now = tonumber(ARGV[3]), tonumber(ARGV[4])
local latestNewestAt, askEveryMs = tonumber(ARGV[5]), tonumber(ARGV[6])
local latest = now + ${FURTHEST_APART_MS}
local stored = redis.call('HMGET', key, 'newestAt', 'shownAt', 'headSeenAt', 'askedAt')
local function believed(text, latest)
  local at = tonumber(text or '')
  return at and at > 0 and at <= latest and at or 0
end
local function merge(one, other)
  local earlier, later = one, other
  if one.shownAt > other.shownAt then earlier, later = other, one end
  local isHeld = later.shownAt - earlier.shownAt <= ${SHOWN_HOLDS_MS}
  return earlier.newestAt > later.newestAt and isHeld and earlier or later
end
local function whole(number) return string.format('%.0f', number) end
local kept = { newestAt = believed(stored[1], latestNewestAt), shownAt = believed(stored[2], latest) }
-- Without a time there is nothing that was shown.
if kept.newestAt == 0 then kept.shownAt = 0 end
local known = merge(kept, given)
headSeenAt = math.max(headSeenAt, believed(stored[3], latest))
local askedAt = believed(stored[4], latest)
local mayAsk = askEveryMs > 0 and now - askedAt >= askEveryMs
if mayAsk then askedAt = now end
local newestAt, shownAt = whole(known.newestAt), whole(known.shownAt)
redis.call('HSET', key, 'newestAt', newestAt, 'shownAt', shownAt, 'headSeenAt', whole(headSeenAt), 'askedAt', whole(askedAt))
redis.call('PEXPIRE', key, ${KEPT_MS})
return { newestAt, shownAt, whole(headSeenAt), mayAsk and '1' or '0' }`;

/** Shares the chain time through one key in Redis. */
export function shareChainTime(
  { runScript }: ShareChainTimeDependencies,
  { key, budgetMs }: ShareChainTimeOptions,
): SharedChainTime {
  return {
    exchange: async ({ newestAt, shownAt, headSeenAt, now, latestNewestAt, askEveryMs }) => {
      const args = [newestAt, shownAt, headSeenAt, now, latestNewestAt, askEveryMs];
      const reply = runScript(
        EXCHANGE,
        [key],
        args.map((at) => String(Math.floor(at))),
      ).catch(() => undefined);
      return readReply(await settledWithin(budgetMs, reply));
    },
  };
}

function readReply(reply: unknown): MergedChainTime | undefined {
  if (!Array.isArray(reply) || reply.length !== 4) return undefined;
  const [newestAt, shownAt, headSeenAt, mayAsk] = reply.map((part) => Number(String(part)));
  return isInstant(newestAt) && isInstant(shownAt) && isInstant(headSeenAt)
    ? { newestAt, shownAt, headSeenAt, mayAsk: mayAsk === 1 }
    : undefined;
}

function isInstant(at: number | undefined): at is number {
  return Number.isFinite(at);
}
