import type { Chain } from '../../../src/simulator/chain.ts';
import type { SeededRandom } from '../../../src/simulator/seeded-random.ts';

/** Of all requests: those of wallets that wait for a trace, and those of scanners at the head; the rest walks trees. */
const PENDING_SHARE = 0.5;
const HEAD_SHARE = 0.2;

/** Traces that somebody looks at, the newest ones. */
const WATCHED_TRACES = 40;
const BLOCKS_BEHIND = 5;

/** What many clients ask for now, most of them the same: path and query. */
export function nextTarget(chain: Chain, random: SeededRandom): string {
  if (random.chance(HEAD_SHARE)) {
    // One ahead of the head is what scanners wait for.
    return `/api/v3/masterchainBlockShards?seqno=${chain.headSeqno + 1 - random.int(0, BLOCKS_BEHIND)}`;
  }
  const trace = random.pick(chain.recentTraces(WATCHED_TRACES));
  if (random.chance(PENDING_SHARE / (1 - HEAD_SHARE))) {
    return `/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(trace.externalHash)}`;
  }
  const { hash } = random.pick(trace.transactions);
  return `/api/v3/adjacentTransactions?hash=${encodeURIComponent(hash)}&direction=${random.pick(['in', 'out'])}`;
}
