import type { RequestOutcome } from '../../answer/events.ts';
import { shorterHistories, shorterHistoryText } from '../../ton/histories.ts';
import type { Growth, Samples } from '../samples.ts';
import { duration } from '../text-table.ts';
import { type Cause, FAILS, type Failures, refusesKey, whatItDoes } from './causes.ts';
import { ofReplicas, partsOf } from './numbers.ts';

/** Clocks that differ by more than this are wrong. */
const CLOCK_SECONDS = 5;

/** The section of docs/incidents.md on indexers that do not answer head polls. */
export const UNRESPONSIVE = 'an-indexer-does-not-say-its-newest-block';

/** Below this many requests a second a ratio of hits is meaningless; a ratio below this is low. */
const [FEWEST_PER_SECOND, LOW_RATIO] = [1, 0.5];

/** What may be wrong while all clients get their answers in time. */
export function doubtIn(growth: Growth, failures: Failures): Cause | undefined {
  const { after } = growth;
  return unresponsiveIn(growth, failures) ?? wrongClockIn(after) ?? smallMemoryIn(growth) ?? shorterHistoryIn(after);
}

/** For requests by hash, an indexer reports data older than its history as absent. */
function shorterHistoryIn(after: Samples): Cause | undefined {
  const firstBlocks = ofReplicas(after, 'upstream_first_seqno').map(
    ({ value, labels }) => [String(labels['upstream']), value] as const,
  );
  const shorter = [...shorterHistories(new Map(firstBlocks))];
  if (shorter.length === 0) return undefined;
  const cause = shorter.map(([indexer, first]) => shorterHistoryText(indexer, first)).join('; ');
  return { cause, runbook: 'an-indexer-has-a-shorter-history' };
}

/** The same as the alert ToncacheMemoryTooSmall: memory evicts fresh entries, and most answers are not in it. */
function smallMemoryIn(growth: Growth): Cause | undefined {
  const { valid, hits } = partsOf(growth);
  const perSecond = (outcome: RequestOutcome) => growth.perSecond('requests_total', { outcome });
  const missed = valid - perSecond('hit-memory') - perSecond('hit-proven');
  const evicted = growth.perSecond('memory_tier_fresh_evictions_total');
  if (valid <= FEWEST_PER_SECOND || hits >= LOW_RATIO * valid || evicted <= missed / 2) return undefined;
  const part = Math.round((100 * hits) / valid);
  return {
    cause: `memory is full: it evicts ${evicted.toFixed(1)} fresh answers a second, and hits are ${part} %`,
    runbook: 'memory-is-too-small',
  };
}

function unresponsiveIn(growth: Growth, failures: Failures): Cause | undefined {
  const unresponsive = ofReplicas(growth.after, 'upstream_unresponsive').filter(({ value }) => value > 0);
  if (unresponsive.length === 0) return undefined;
  const refusing = unresponsive
    .map(({ labels }) => String(labels['upstream']))
    .find((indexer) => refusesKey(indexer, failures));
  if (refusing !== undefined) return { cause: whatItDoes(refusing, growth, failures, 'the indexer'), runbook: FAILS };
  const names = unresponsive.map(({ labels }) => labels['upstream']).join(' and ');
  const cause = `${names} is unresponsive: it does not answer head polls, so its lag is unknown`;
  return { cause, runbook: UNRESPONSIVE };
}

function wrongClockIn(after: Samples): Cause | undefined {
  const runbook = 'a-clock-is-wrong';
  const redis = after.sum('redis_clock_offset_seconds');
  if (Math.abs(redis) > CLOCK_SECONDS) {
    const words = `${duration(1000 * Math.abs(redis))} ${redis > 0 ? 'ahead of' : 'behind'}`;
    return { cause: `the clock of Redis is ${words} that of this machine`, runbook };
  }
  // A chain that is behind proves nothing: it may catch up.
  const ages = after.of('upstream_head_age_seconds').map(({ value }) => value);
  const ahead = ages.length === 0 ? 0 : -Math.max(...ages);
  return ahead > CLOCK_SECONDS
    ? { cause: `the chain is ${duration(1000 * ahead)} ahead of our clock`, runbook }
    : undefined;
}
