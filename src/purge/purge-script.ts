import { EVERY_ENTRY, FURTHEST_AHEAD_MS, type PurgeRecord } from './purge-records.ts';

const EPOCH = memberOf({ tag: EVERY_ENTRY, soft: false });

/**
 * How far the clock of an instance may be ahead of Redis' time, in milliseconds: an entry that it asks for just before a
 * purge is dated so long after it. The sum of half a quick round trip (`clock.ts`: 2.5 ms), the drift until the next
 * sample (1 ms in 10 s at 100 ppm), and the fraction of a millisecond that is cut off when a purge is dated (below 1 ms).
 */
const CLOCK_MARGIN_MS = 5;

/**
 * One exchange with the bans in Redis, a sorted set of `hard TAG` and `soft TAG` by the instant (Redis server time) up to
 * which they cover entries: when Redis accepted them, and {@link CLOCK_MARGIN_MS} more. KEYS: the sorted set. ARGV: how
 * long records are kept (ms), how far back they are counted (ms), from which instant on they are returned, then three
 * words for each record: `new` or `known`, member, instant. Returns: the time, the number of counted records, why one
 * could not be written (or nothing), the epoch, and a list of the written records and those from that instant on.
 *
 * A record that Redis lacks, because it was unreachable, lost it or was flushed, is dated like a new one, because the
 * other instances only look for new records. The epoch is returned each time and keeps its instant, because a new one
 * would purge everything again; one that is far ahead, because Redis' clock was wrong, is dated now once for all
 * instances. The epoch needs no margin: it covers entries by their keys, whenever they were asked for.
 */
export const EXCHANGE = `
local key, epoch = KEYS[1], '${EPOCH}'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = now + ${FURTHEST_AHEAD_MS}
local whole = function (number) return string.format('%.0f', number) end
local failure = ''
local try = function (...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then failure = reply.err end
end

local drop = function (from, to)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, from, to, 'LIMIT', 0, 100)) do
    if member ~= epoch then redis.pcall('ZREM', key, member) end
  end
end
drop('-inf', '(' .. whole(now - ARGV[1]))
drop('(' .. whole(latest), '+inf')
if tonumber(redis.call('ZSCORE', key, epoch) or '0') > latest then redis.pcall('ZADD', key, whole(now), epoch) end

local sent = {}
for i = 4, #ARGV, 3 do
  local is_new, member = ARGV[i] == 'new', ARGV[i + 1]
  local at = math.min(tonumber(ARGV[i + 2]), latest)
  local kept = tonumber(redis.call('ZSCORE', key, member) or '-1')
  if member == epoch and not is_new and tonumber(ARGV[i + 2]) > latest then at = kept > 0 and kept or now end
  if is_new or kept < math.min(at, now) then
    local newest = member == epoch and now or now + ${CLOCK_MARGIN_MS}
    if is_new or member ~= epoch then at = math.max(at, newest, kept + 1) end
    try('ZADD', key, whole(at), member)
    if failure == '' then sent[#sent + 1], sent[#sent + 2] = member, whole(at) end
  end
end

local since = whole(math.min(tonumber(ARGV[3]), latest))
for _, word in ipairs(redis.call('ZRANGEBYSCORE', key, since, '+inf', 'WITHSCORES')) do sent[#sent + 1] = word end
return {
  now,
  redis.call('ZCOUNT', key, whole(now - ARGV[2]), '+inf'),
  failure,
  redis.call('ZSCORE', key, epoch) or '0',
  sent,
}`;

/** The reply to one exchange. */
export interface Exchanged {
  /** Redis server time, epoch ms. */
  readonly now: number;
  /** The number of records in Redis that are young enough to be counted. */
  readonly count: number;
  /** Why a record could not be written; `undefined` when all were. */
  readonly failure: string | undefined;
  readonly records: readonly PurgeRecord[];
}

/** Reads the reply of {@link EXCHANGE}, its texts as strings or as bytes. Throws for anything else. */
export function readExchanged(reply: unknown): Exchanged {
  const [now, count, failure, epoch, flat] = Array.isArray(reply) ? reply : [];
  const isRight = isTime(now) && isTime(count) && isText(failure) && isText(epoch) && isTime(Number(epoch));
  if (!isRight || !Array.isArray(flat)) throw new Error('Redis answered with no purge records');
  const records: PurgeRecord[] = [{ tag: EVERY_ENTRY, soft: false, at: Number(epoch) }];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const record = recordOf(String(flat[index]), Number(flat[index + 1]));
    if (record !== undefined) records.push(record);
  }
  return { now, count, failure: String(failure) || undefined, records };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isText(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

/** The member name of a record in Redis. */
export function memberOf({ tag, soft }: Omit<PurgeRecord, 'at'>): string {
  return `${soft ? 'soft' : 'hard'} ${tag}`;
}

function recordOf(member: string, at: number): PurgeRecord | undefined {
  const [, strength, tag = ''] = /^(hard|soft) (.+)$/.exec(member) ?? [];
  return strength === undefined || !Number.isFinite(at) ? undefined : { tag, soft: strength === 'soft', at };
}
