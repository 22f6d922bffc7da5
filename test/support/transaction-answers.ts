import { setTimeout as pause } from 'node:timers/promises';
import { type JsonAnswer, NOT_FOUND } from './json-upstream.ts';

const LIVE_HASH = '1f'.repeat(24);
const UNKNOWN_HASH = '0f'.repeat(24);

/** How the indexer is asked for hashes that begin so. */
const [LIVE, UNKNOWN] = [LIVE_HASH, UNKNOWN_HASH].map((hex) =>
  encodeURIComponent(Buffer.from(hex, 'hex').toString('base64')),
) as [string, string];

/** Path and query of the children of the `index`th transaction of a `group`; different ones are different keys. */
export function childrenOf(group: number, index: number): string {
  return `/api/v3/adjacentTransactions?hash=${hashOf(group, index)}&direction=out`;
}

/** Path and query of its parent: a final answer, which does not expire within a test, however slow the machine is. */
export function parentOf(group: number, index: number): string {
  return `/api/v3/adjacentTransactions?hash=${hashOf(group, index)}&direction=in`;
}

/** A transaction that does not exist. */
export function unknownOf(index: number): string {
  return `/api/v3/adjacentTransactions?hash=${UNKNOWN_HASH}${String(index).padStart(16, '0')}`;
}

/** The children of a transaction that is not final yet. */
export function liveChildrenOf(index: number): string {
  return `/api/v3/adjacentTransactions?hash=${LIVE_HASH}${String(index).padStart(16, '0')}&direction=out`;
}

/** The indexer for these: growing answers, live ones, and 404; no two are the same. Each comes after `delayMs`. */
export function answersOf(delayMs: number): (target: string) => Promise<JsonAnswer> {
  let asked = 0;
  return async (target) => {
    asked++;
    await pause(delayMs);
    if (target.includes(UNKNOWN)) return NOT_FOUND;
    const emulated = target.includes(LIVE);
    const transaction = { hash: 'a', lt: asked, now: 1_700_000_000, mc_block_seqno: 7, emulated };
    return { status: 200, body: { transactions: [transaction] } };
  };
}

function hashOf(group: number, index: number): string {
  return `${String(group).padStart(16, '0')}${String(index).padStart(48, '0')}`;
}
