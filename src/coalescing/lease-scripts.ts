/**
 * The lease of a key in Redis, in the slot of its entry. The lease is `held MS TOKEN` (for so long, by whom) or
 * `failed FAILURE` (the indexer's failure, which rests there a while); anything else, and a lease without an end, is
 * rubbish and free to be taken. `waiters` is the set of instances that wait for it.
 */

/** No lease is held for longer; what seems to be is rubbish. */
const LONGEST_LEASE_MS = 15 * 60_000;

/** No failure rests for longer (`coalescing.restAfterFailure` is at most that). */
const LONGEST_REST_MS = 60_000;

/** How long a set of waiters outlives its lease: whoever still waits looks by itself meanwhile. */
const WAITERS_STAY_MS = 1000;

/**
 * Looks again and takes the lease, or waits for it, in one step: nobody can store or release between the two.
 * KEYS: entry, lease, waiters. ARGV: the stamp that the entry had when it was looked at, `take` or `watch`, the lease to
 * take, its milliseconds, the age in milliseconds from which a lease is taken over, this instance.
 */
export const CLAIM = `
local stamp = redis.pcall('GETRANGE', KEYS[1], 0, 7)
if type(stamp) == 'string' and stamp ~= '' and stamp ~= ARGV[1] then return {'changed'} end
local lease, leftMs = redis.pcall('GET', KEYS[2]), redis.call('PTTL', KEYS[2])
if type(lease) == 'string' and leftMs > 0 and leftMs <= ${LONGEST_LEASE_MS} then
  local failure = string.match(lease, '^failed (.*)$')
  if failure and leftMs <= ${LONGEST_REST_MS} then return {'failed', failure} end
  local wholeMs = tonumber(string.match(lease, '^held (%d+) '))
  local followable = ARGV[2] == 'watch' or wholeMs and wholeMs - leftMs < tonumber(ARGV[5])
  if wholeMs and leftMs <= wholeMs and followable then
    if redis.call('TYPE', KEYS[3]).ok ~= 'set' then redis.call('DEL', KEYS[3]) end
    redis.call('SADD', KEYS[3], ARGV[6])
    redis.call('PEXPIRE', KEYS[3], leftMs + ${WAITERS_STAY_MS})
    return {'taken'}
  end
end
if ARGV[2] == 'watch' then return {'free'} end
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
return {'held'}`;

// A user without the right to the channels must not lose the step for it: the others look by themselves. A script may
// publish on any channel; sharded ones would have to lie in the slot of the key, and so could not be an instance's.
const WAKE_ALL = `
local function wakeAll(waiters, prefix, message)
  for _, instance in ipairs(redis.pcall('SMEMBERS', waiters)) do
    redis.pcall('PUBLISH', prefix .. instance, message)
  end
  redis.call('DEL', waiters)
end`;

/**
 * Follows a store in its step: ends the lease if it is still ours and wakes all. K: lease, waiters. A: our lease, the
 * prefix of channels, the entry's key.
 */
export const SETTLE = `${WAKE_ALL}
if redis.pcall('GET', K[1]) == A[1] then redis.call('DEL', K[1]) end
wakeAll(K[2], A[2], A[3] .. ' changed')`;

/** KEYS: lease, waiters. ARGV: our lease, the prefix of channels, the entry's key, the failure, how long it rests. */
export const FAIL = `${WAKE_ALL}
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return end
if tonumber(ARGV[5]) > 0 then redis.call('SET', KEYS[1], 'failed ' .. ARGV[4], 'PX', ARGV[5])
else redis.call('DEL', KEYS[1]) end
wakeAll(KEYS[2], ARGV[2], ARGV[3] .. ' failed ' .. ARGV[4])`;

/** Wakes exactly one, who takes over. KEYS: lease, waiters. ARGV: our lease, the prefix of channels, the entry's key. */
export const RELEASE = `
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return end
redis.call('DEL', KEYS[1])
local instance = redis.pcall('SPOP', KEYS[2])
if type(instance) == 'string' then redis.pcall('PUBLISH', ARGV[2] .. instance, ARGV[3] .. ' free') end`;
