import { firstSentence } from '../reason-of.ts';
import type { EpochMs, Ms } from '../time-units.ts';
import { type Ban, FURTHEST_AHEAD_MS } from './bans.ts';

/** Runs a script in Redis. Settles within the command timeout, and immediately while there is no connection. */
export type RunScript = (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/**
 * The largest lead of an instance's clock over Redis' time: an entry requested just before a purge may be dated this
 * much after it. The sum of half a quick round trip (`clock.ts`: 2.5 ms), the drift until the next quick sample (1 ms
 * in 10 s at 100 ppm), and the fraction of a millisecond that is cut off when a purge is dated (below 1 ms).
 */
const CLOCK_MARGIN_MS = 5;

/** An instance counts for this time after an exchange: four times the interval between exchanges. */
const INSTANCE_COUNTS_MS = 2000;

/**
 * One exchange with the bans in Redis: a sorted set of tags by their instants, and `changed`, the time of the last
 * change.
 *
 * KEYS: that set, the set of instances by their last exchange, and the set of what each of them polls, by the same.
 *
 * ARGV: how long bans are kept, `new` or `known`, the last seen `changed`, the name of the caller (empty: not an
 * instance), what it polls (separated by commas), then tag and instant of each sent ban.
 *
 * Returns: Redis' time, why a ban could not be written (or nothing), `changed` (empty for an empty set), the bans, the
 * number of instances, and what they poll. The bans are tag and instant of the sent one if it is new, otherwise of all if
 * they have changed. An error may stand in place of each of the last two. Each call names its command and its key
 * literally, as some Redis services require.
 *
 * A new ban is dated by Redis' time, with a margin for clocks that differ. A known ban, which Redis lost or never got,
 * keeps its instant: answers requested after it are not purged.
 *
 * Both sets expire when nothing in them counts any more, in case no instance is left to trim them.
 */
const EXCHANGE = `
local is_new, seen = ARGV[2] == 'new', ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local whole = function (number) return string.format('%.0f', number) end
local failure = ''
local written = function (reply)
  if type(reply) == 'number' then return reply end
  failure = reply.err
  return 0
end

written(redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. whole(now - ARGV[1])))
written(redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '(' .. whole(now + ${FURTHEST_AHEAD_MS}), '+inf'))
local changes = 0
for i = 6, #ARGV, 2 do
  local at = tonumber(ARGV[i + 1])
  if at > now + ${FURTHEST_AHEAD_MS} then at = now end
  if is_new then at = math.max(at, now + ${CLOCK_MARGIN_MS}) end
  changes = changes + written(redis.pcall('ZADD', KEYS[1], 'GT', 'CH', whole(at), ARGV[i]))
end
local changed = redis.call('ZSCORE', KEYS[1], 'changed') or ''
if changes > 0 then
  changed = whole(math.max(now, (tonumber(changed) or 0) + 1))
  written(redis.pcall('ZADD', KEYS[1], changed, 'changed'))
  local ends_in = ARGV[1] + ${FURTHEST_AHEAD_MS}
  if redis.call('PTTL', KEYS[1]) < ends_in then written(redis.pcall('PEXPIRE', KEYS[1], whole(ends_in))) end
end

local bans = {}
if is_new then bans = { ARGV[6], redis.call('ZSCORE', KEYS[1], ARGV[6]) or '0' }
elseif changed ~= seen then bans = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES') end
if ARGV[4] ~= '' then redis.pcall('ZADD', KEYS[2], whole(now), ARGV[4]) end
redis.pcall('PEXPIRE', KEYS[2], ${INSTANCE_COUNTS_MS})
redis.pcall('ZREMRANGEBYSCORE', KEYS[2], '-inf', whole(now - ${INSTANCE_COUNTS_MS}))
local instances = redis.pcall('ZCARD', KEYS[2])
for what in string.gmatch(ARGV[5], '[^,]+') do redis.pcall('ZADD', KEYS[3], whole(now), what .. ' ' .. ARGV[4]) end
redis.pcall('PEXPIRE', KEYS[3], ${INSTANCE_COUNTS_MS})
redis.pcall('ZREMRANGEBYSCORE', KEYS[3], '-inf', whole(now - ${INSTANCE_COUNTS_MS}))
local polled = redis.pcall('ZRANGE', KEYS[3], 0, -1)
return { string.format('%.3f', time[1] * 1000 + time[2] / 1000), failure, changed, bans, instances, polled }`;

/** The keys of bans in Redis, and the instance that exchanges them. */
export interface BansInRedis {
  /** In one slot of a Cluster. */
  readonly keys: { readonly bans: string; readonly instances: string; readonly polled: string };
  readonly keptMs: Ms;
  /** The name under which it counts as an instance; empty if it is not one. */
  readonly instance: string;
  /** What its clients poll often enough that following the blocks may pay. */
  polls: () => readonly string[];
}

interface Exchanged {
  /** Redis' time, with fractions of a millisecond. */
  readonly now: EpochMs;
  /** Why a ban could not be written; `undefined` when all were. */
  readonly failure: string | undefined;
  readonly changed: string;
  /** The sent ban if it is new, otherwise all bans if `changed` differs from the last seen one. */
  readonly bans: readonly Ban[];
  /**
   * The number of instances that have exchanged bans in the last {@link INSTANCE_COUNTS_MS}; `undefined` if Redis did
   * not return it.
   */
  readonly instances: number | undefined;
  /** What instances poll: a word for each instance and kind, as in {@link BansInRedis.polls}. */
  readonly polled: readonly string[];
}

/** Exchanges bans with Redis, see {@link EXCHANGE}. Rejects when Redis does not answer, or not as expected. */
export async function exchangeBans(
  runScript: RunScript,
  { keys, keptMs, instance, polls }: BansInRedis,
  as: 'new' | 'known',
  seen: string,
  sent: readonly Ban[],
): Promise<Exchanged> {
  const words = sent.flatMap(({ tag, at }) => [tag, String(at)]);
  const args = [String(keptMs), as, seen, instance, polls().join(), ...words];
  const reply = await runScript(EXCHANGE, [keys.bans, keys.instances, keys.polled], args);
  const [time, failure, changed, flat, count, polled] = Array.isArray(reply) ? reply : [];
  const now = Number.parseFloat(String(time));
  if (!Number.isFinite(now) || !isText(failure) || !isText(changed) || !Array.isArray(flat)) {
    throw new Error('Redis answered with no bans');
  }
  const instances = typeof count === 'number' ? count : undefined;
  return {
    now,
    failure: firstSentence(String(failure)) || undefined,
    changed: String(changed),
    bans: bansIn(flat, now),
    instances,
    polled: Array.isArray(polled) ? polled.map((member) => String(member).split(' ', 1)[0] ?? '') : [],
  };
}

function isText(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

/** Without `changed`, and without bans from a clock far ahead that a read-only Redis still holds. */
function bansIn(flat: readonly unknown[], now: EpochMs): Ban[] {
  const bans: Ban[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const ban = { tag: String(flat[index]), at: Number(flat[index + 1]) };
    if (ban.tag !== 'changed' && ban.at <= now + FURTHEST_AHEAD_MS) bans.push(ban);
  }
  return bans;
}
