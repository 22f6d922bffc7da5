import { FINGERPRINT_BYTES, HIGHEST_RANK } from './entry.ts';
import { AT, FIXED_BYTES } from './entry-codec.ts';
import { REGRESSION_GUARD_MS } from './precedence.ts';

/** What Redis did with an entry: stored it, or why it kept its own. */
export type RedisStoreOutcome = (typeof OUTCOMES)[number];

const OUTCOMES = ['stored', 'older', 'regressed'] as const;

/** Whether this is a word of the script. */
export function isStoreOutcome(word: string): word is RedisStoreOutcome {
  return OUTCOMES.some((outcome) => outcome === word);
}

/**
 * Clocks differ by less than this. A kept entry that was asked for further in the future is garbage and is replaced.
 */
const FURTHEST_AHEAD_MS = 60_000;

/**
 * Stores an entry unless the one that Redis holds has precedence by the rule of `precedence.ts`, in one step. KEYS: the
 * entry. ARGV: its bytes, the milliseconds to keep it, and the instant of the last purge that covers it (epoch
 * ms): a kept entry that was asked for up to that instant is purged, so the new one replaces it. The checksum of the kept entry is not verified here: a reader that finds damage
 * runs {@link DELETE_IF_SAME}.
 */
export const STORE = `
local bytes, ttlMs, purgedUntil = ARGV[1], ARGV[2], tonumber(ARGV[3])
local function double(text, at) return (struct.unpack('>d', text, at + 1)) end
local function setOf(text)
  local set = {}
  for at = 1, #text, ${FINGERPRINT_BYTES} do set[string.sub(text, at, at + ${FINGERPRINT_BYTES - 1})] = true end
  return set
end
local function isSubset(one, other)
  for member in pairs(one) do
    if not other[member] then return false end
  end
  return true
end
local function lengths(text) return struct.unpack('>I4I4', text, ${AT.stringLengths + 1}) end
-- What an answer lists for good, and all that it lists.
local function listOf(text, members) return setOf(string.sub(text, 1, members)), setOf(text) end
local function compare(rank, lasting, all, keptRank, keptLasting, keptAll)
  if next(all) and next(keptAll) then
    if not isSubset(keptLasting, all) then return 'less' end
    if not isSubset(lasting, keptAll) then return 'more' end
    if not (isSubset(all, keptAll) and isSubset(keptAll, all)) then return 'equal' end
  end
  return rank == keptRank and 'equal' or rank > keptRank and 'more' or 'less'
end
local function decide()
  local kept = redis.pcall('GETRANGE', KEYS[1], 0, ${FIXED_BYTES - 1})
  if type(kept) ~= 'string' or #kept < ${FIXED_BYTES} or string.sub(kept, 1, 4) ~= string.sub(bytes, 1, 4) then
    return 'stored'
  end
  local keptAt, askedAt = double(kept, ${AT.askedAt}), double(bytes, ${AT.askedAt})
  local keptRank, rank = string.byte(kept, ${AT.rank + 1}), string.byte(bytes, ${AT.rank + 1})
  if not (keptAt <= askedAt + ${FURTHEST_AHEAD_MS}) or keptRank > ${HIGHEST_RANK} or keptAt <= purgedUntil then
    return 'stored'
  end
  local keptMembers, keptTentative = lengths(kept)
  local keptLength = keptMembers + keptTentative
  local keptList = keptLength > 0 and redis.call('GETRANGE', KEYS[1], ${FIXED_BYTES}, ${FIXED_BYTES - 1} + keptLength) or ''
  local members, tentative = lengths(bytes)
  local list = string.sub(bytes, ${FIXED_BYTES + 1}, ${FIXED_BYTES} + members + tentative)
  local lasting, all = listOf(list, members)
  local verdict = compare(rank, lasting, all, keptRank, listOf(keptList, keptMembers))
  if verdict == 'more' then return 'stored' end
  if askedAt < keptAt then return 'older' end
  if verdict == 'equal' then return 'stored' end
  local since = double(kept, ${AT.regressedSince})
  local time = redis.call('TIME')
  return since > 0 and time[1] * 1000 + time[2] / 1000 - since >= ${REGRESSION_GUARD_MS} and 'stored' or 'regressed'
end
local outcome = decide()
if outcome == 'stored' then redis.call('SET', KEYS[1], bytes, 'PX', ttlMs) end
return outcome`;

/** Deletes an entry. KEYS: the entry. */
export const DELETE = `redis.call('DEL', KEYS[1])`;

/** Deletes a damaged entry unless it was replaced. KEYS: the entry. ARGV: the first bytes of the damaged value. */
export const DELETE_IF_SAME = `
if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;
