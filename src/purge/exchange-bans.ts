import type { EpochMs, Ms } from '../time-units.ts';
import { type Ban, FURTHEST_AHEAD_MS } from './bans.ts';

/** Runs a script in Redis. Settles within the command timeout, and at once while there is no connection. */
export type RunScript = (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/**
 * How far the clock of an instance may be ahead of Redis' time: an entry that it asks for just before a purge is dated
 * so long after it. The sum of half a quick round trip (`clock.ts`: 2.5 ms), the drift until the next quick sample (1 ms in
 * 10 s at 100 ppm), and the fraction of a millisecond that is cut off when a purge is dated (below 1 ms).
 */
const CLOCK_MARGIN_MS = 5;

/**
 * One exchange with the bans in Redis: a sorted set of tags by their instants, and `changed`, the time of the last
 * change. KEYS: that set. ARGV: how long bans are kept, `new` or `known`, the `changed` that was last seen, then tag and
 * instant of each sent ban. Returns: Redis' time, why a ban could not be written (or nothing), `changed` (empty for an
 * empty set), then tag and instant of the sent ban if it is new, else of all bans if they have changed.
 *
 * A new ban is dated by Redis' time, with a margin for clocks that differ. A known one, which Redis lost or never got,
 * keeps its instant: what was asked for after it is not purged.
 */
const EXCHANGE = `
local key, is_new, seen = KEYS[1], ARGV[2] == 'new', ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local whole = function (number) return string.format('%.0f', number) end
local failure = ''
local write = function (...)
  local reply = redis.pcall(...)
  if type(reply) == 'number' then return reply end
  failure = reply.err
  return 0
end

write('ZREMRANGEBYSCORE', key, '-inf', '(' .. whole(now - ARGV[1]))
write('ZREMRANGEBYSCORE', key, '(' .. whole(now + ${FURTHEST_AHEAD_MS}), '+inf')
local changes = 0
for i = 4, #ARGV, 2 do
  local at = tonumber(ARGV[i + 1])
  if at > now + ${FURTHEST_AHEAD_MS} then at = now end
  if is_new then at = math.max(at, now + ${CLOCK_MARGIN_MS}) end
  changes = changes + write('ZADD', key, 'GT', 'CH', whole(at), ARGV[i])
end
local changed = redis.call('ZSCORE', key, 'changed') or ''
if changes > 0 then
  changed = whole(math.max(now, (tonumber(changed) or 0) + 1))
  write('ZADD', key, changed, 'changed')
end

local bans = {}
if is_new then bans = { ARGV[4], redis.call('ZSCORE', key, ARGV[4]) or '0' }
elseif changed ~= seen then bans = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
return { string.format('%.3f', time[1] * 1000 + time[2] / 1000), failure, changed, bans }`;

/** The reply to one exchange. */
interface Exchanged {
  /** Redis' time, with fractions of a millisecond. */
  readonly now: EpochMs;
  /** Why a ban could not be written; `undefined` when all were. */
  readonly failure: string | undefined;
  readonly changed: string;
  /** The sent ban if it is new, else all bans if `changed` differs from what was seen. */
  readonly bans: readonly Ban[];
}

/** Exchanges bans with Redis, see {@link EXCHANGE}. Rejects when Redis does not answer, or not as expected. */
export async function exchangeBans(
  runScript: RunScript,
  { key, keptMs }: { readonly key: string; readonly keptMs: Ms },
  as: 'new' | 'known',
  seen: string,
  sent: readonly Ban[],
): Promise<Exchanged> {
  const words = sent.flatMap(({ tag, at }) => [tag, String(at)]);
  const reply = await runScript(EXCHANGE, [key], [String(keptMs), as, seen, ...words]);
  const [time, failure, changed, flat] = Array.isArray(reply) ? reply : [];
  const now = Number.parseFloat(String(time));
  if (!Number.isFinite(now) || !isText(failure) || !isText(changed) || !Array.isArray(flat)) {
    throw new Error('Redis answered with no bans');
  }
  return { now, failure: String(failure) || undefined, changed: String(changed), bans: bansIn(flat, now) };
}

function isText(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

/** Without `changed`, and without those that a Redis that takes no writes still holds from a clock far ahead. */
function bansIn(flat: readonly unknown[], now: EpochMs): Ban[] {
  const bans: Ban[] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const ban = { tag: String(flat[index]), at: Number(flat[index + 1]) };
    if (ban.tag !== 'changed' && ban.at <= now + FURTHEST_AHEAD_MS) bans.push(ban);
  }
  return bans;
}
