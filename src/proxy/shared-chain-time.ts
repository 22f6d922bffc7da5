import { settledWithin } from './settled-within.ts';

/** What is known of the chain in an indexer. Epoch milliseconds, 0 for never. */
export interface KnownChainTime {
  /** The newest time that the chain has reached. */
  readonly newestAt: number;
  /** When an answer last showed the head of the chain. */
  readonly headSeenAt: number;
}

/** What one instance tells the others. */
export interface GivenChainTime extends KnownChainTime {
  /** Epoch milliseconds. */
  readonly now: number;
  /** A stored newest time later than this is garbage and is replaced. */
  readonly latestNewestAt: number;
  /** At most one instance may ask the indexer in so many milliseconds. 0: this instance does not want to ask. */
  readonly askEveryMs: number;
}

/** What all instances know, and whether this one may ask the indexer. */
export interface MergedChainTime extends KnownChainTime {
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
 * KEYS: a hash. ARGV: the fields of {@link GivenChainTime}, in their order. Both times are stored as the maximum of
 * what instances tell.
 */
const EXCHANGE = `
local key, newestAt, headSeenAt = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local now, latestNewestAt, askEveryMs = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local latest = now + ${FURTHEST_APART_MS}
local kept = redis.call('HMGET', key, 'newestAt', 'toldAt', 'askedAt')
local function believed(text, latest)
  local at = tonumber(text or '')
  return at and at <= latest and at or 0
end
local function whole(number) return string.format('%.0f', number) end
newestAt = math.max(newestAt, believed(kept[1], latestNewestAt))
headSeenAt = math.max(headSeenAt, believed(kept[2], latest))
local askedAt = believed(kept[3], latest)
local mayAsk = askEveryMs > 0 and now - askedAt >= askEveryMs
if mayAsk then askedAt = now end
redis.call('HSET', key, 'newestAt', whole(newestAt), 'toldAt', whole(headSeenAt), 'askedAt', whole(askedAt))
redis.call('PEXPIRE', key, ${KEPT_MS})
return { whole(newestAt), whole(headSeenAt), mayAsk and '1' or '0' }`;

/** Shares the chain time through one key in Redis. */
export function shareChainTime(
  { runScript }: ShareChainTimeDependencies,
  { key, budgetMs }: ShareChainTimeOptions,
): SharedChainTime {
  return {
    exchange: async ({ newestAt, headSeenAt, now, latestNewestAt, askEveryMs }) => {
      const args = [newestAt, headSeenAt, now, latestNewestAt, askEveryMs];
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
  if (!Array.isArray(reply) || reply.length !== 3) return undefined;
  const [newestAt = Number.NaN, headSeenAt = Number.NaN, mayAsk] = reply.map((part) => Number(String(part)));
  return Number.isFinite(newestAt) && Number.isFinite(headSeenAt)
    ? { newestAt, headSeenAt, mayAsk: mayAsk === 1 }
    : undefined;
}
