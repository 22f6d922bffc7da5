/** Begins the value of a lease without a holder, whose load has failed. No token begins with it. */
export const FAILED = 'failed ';

/**
 * Reads the entry, and takes its lease if it is free. Returns the value of another holder's lease, and the entry, each
 * nil if there is none. A lease whose value is not a string is overwritten; such an entry is returned as nil. KEYS:
 * entry, lease. ARGV: our token, the milliseconds of the lease.
 */
export const ACQUIRE = `
local lease, entry = redis.pcall('GET', KEYS[2]), redis.pcall('GET', KEYS[1])
if type(lease) ~= 'string' then
  lease = false
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
return {lease, type(entry) == 'string' and entry}`;

/**
 * Writes an entry and ends its lease. A caller that does not hold the lease writes only if there is no entry. Returns 1
 * if it was written, else 0. KEYS: entry, lease. ARGV: our token, the entry, the milliseconds to keep it.
 */
export const STORE = `
local isOurs = redis.pcall('GET', KEYS[2]) == ARGV[1]
if isOurs then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
elseif not redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3], 'NX') then return 0 end
redis.call('DEL', KEYS[2])
return 1`;

/**
 * Ends a lease that is ours: replaces it by this value with this expiry in milliseconds, or by nothing with an expiry of
 * 0. KEYS: lease. ARGV: our token, the value, the expiry.
 */
export const END_LEASE = `
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end`;
