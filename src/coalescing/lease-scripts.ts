/**
 * The lease of a key in Redis, in the slot of its entry. Its value is one of
 *
 * - `held AGE TOKEN`: the holder TOKEN is loading the key. AGE is the age of its load, in milliseconds, when it took or
 *   last renewed the lease. The age of the load now is AGE plus the time since then, which follows from the expiry.
 * - `failed FAILURE`: the indexer failed. An instance that asks for the lease before this value expires gets the
 *   failure.
 *
 * Any other value, and one without an expiry or with one too far ahead, is garbage and is overwritten. `waiters` is the
 * set of instances that wait for the lease.
 */

/** The maximum of `coalescing.failureTtl`, so a failure with a later expiry is garbage. */
const LONGEST_FAILURE_TTL_MS = 60_000;

/**
 * How long a set of waiters outlives its lease, in milliseconds. Instances that still wait poll, and each poll adds
 * them again.
 */
const WAITERS_STAY_MS = 1000;

/**
 * Looks at the entry again and takes the lease, or joins the waiters, in one step: nobody can store or release in
 * between. KEYS: entry, lease, waiters. ARGV: the stamp that the entry had when it was read, `take` or `watch`, our
 * token, the milliseconds of a lease, the age in milliseconds from which a load is taken over, this instance.
 */
export const ACQUIRE = `
local stamp = redis.pcall('GETRANGE', KEYS[1], 0, 7)
if type(stamp) == 'string' and stamp ~= '' and stamp ~= ARGV[1] then return {'changed'} end
local lease, leftMs = redis.pcall('GET', KEYS[2]), redis.call('PTTL', KEYS[2])
if type(lease) == 'string' and leftMs > 0 then
  local failure = string.match(lease, '^failed (.*)$')
  if failure and leftMs <= ${LONGEST_FAILURE_TTL_MS} then return {'failed', failure} end
  local renewedAtAge, leaseMs = tonumber(string.match(lease, '^held (%d+) ')), tonumber(ARGV[4])
  if renewedAtAge and leftMs <= leaseMs then
    local ageMs = renewedAtAge + leaseMs - leftMs
    if ARGV[2] == 'watch' or ageMs < tonumber(ARGV[5]) then
      if redis.call('TYPE', KEYS[3]).ok ~= 'set' then redis.call('DEL', KEYS[3]) end
      redis.call('SADD', KEYS[3], ARGV[6])
      redis.call('PEXPIRE', KEYS[3], leftMs + ${WAITERS_STAY_MS})
      return {'taken'}
    end
  end
end
if ARGV[2] == 'watch' then return {'free'} end
redis.call('SET', KEYS[2], 'held 0 ' .. ARGV[3], 'PX', ARGV[4])
return {'held'}`;

const IS_HELD_BY = `
local function isHeldBy(lease, token)
  local value = redis.pcall('GET', lease)
  return type(value) == 'string' and string.match(value, '^held %d+ (.+)$') == token
end`;

/**
 * Renews the lease if it is still ours, and returns whether it was: 1 or 0. An expired lease is not taken again, even
 * if nobody has taken it since. KEYS: lease. ARGV: our token, the age of the load, the milliseconds until it expires.
 */
export const RENEW = `${IS_HELD_BY}
if not isHeldBy(KEYS[1], ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], 'held ' .. ARGV[2] .. ' ' .. ARGV[1], 'PX', ARGV[3])
return 1`;

// PUBLISH may fail without failing the script: a Redis user may lack the right to the channels, and waiters poll
// anyway. PUBLISH is used in a Cluster too, because a script can only use a sharded channel in the slot of its keys,
// and an instance has one channel for all keys.
const WAKE_ALL = `
local function wakeAll(waiters, prefix, message)
  for _, instance in ipairs(redis.pcall('SMEMBERS', waiters)) do
    redis.pcall('PUBLISH', prefix .. instance, message)
  end
  redis.call('DEL', waiters)
end`;

/**
 * Sent when Redis has answered the store of the entry. Ends the lease if it is still ours; wakes all waiters in any
 * case. KEYS: lease, waiters. ARGV: our token, the prefix of channels, the entry's key.
 */
export const SETTLE = `${IS_HELD_BY}${WAKE_ALL}
if isHeldBy(KEYS[1], ARGV[1]) then redis.call('DEL', KEYS[1]) end
wakeAll(KEYS[2], ARGV[2], ARGV[3] .. ' changed')`;

/**
 * Replaces the lease by a failure, and wakes all waiters with it. KEYS: lease, waiters. ARGV: our token, the prefix of
 * channels, the entry's key, the failure, its TTL in milliseconds.
 */
export const FAIL = `${IS_HELD_BY}${WAKE_ALL}
if not isHeldBy(KEYS[1], ARGV[1]) then return end
if tonumber(ARGV[5]) > 0 then redis.call('SET', KEYS[1], 'failed ' .. ARGV[4], 'PX', ARGV[5])
else redis.call('DEL', KEYS[1]) end
wakeAll(KEYS[2], ARGV[2], ARGV[3] .. ' failed ' .. ARGV[4])`;

/** Wakes exactly one waiter, who takes over. KEYS: lease, waiters. ARGV: our token, the prefix of channels, the entry's key. */
export const RELEASE = `${IS_HELD_BY}
if not isHeldBy(KEYS[1], ARGV[1]) then return end
redis.call('DEL', KEYS[1])
local instance = redis.pcall('SPOP', KEYS[2])
if type(instance) == 'string' then redis.pcall('PUBLISH', ARGV[2] .. instance, ARGV[3] .. ' free') end`;
