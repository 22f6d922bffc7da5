import type { Finality } from './finality.ts';
import type { Call } from './parse-call.ts';

/**
 * A complete list of fewer blocks than this answers every larger `limit`, and none: 10 and 100 are the indexers' defaults.
 * A masterchain block comes with 2 to 5 blocks.
 */
const SHORT_ROWS = 10;

/**
 * Whether an answer lists all blocks of a masterchain block, and these are so few that the `limit` made no difference; none
 * are, too: a 404 is one for every `limit`.
 */
export function isShortList({ rule }: Finality, body: unknown): boolean {
  if (rule === 'notFound') return true;
  if (rule !== 'shardsFinal' || typeof body !== 'object' || body === null || !('blocks' in body)) return false;
  return Array.isArray(body.blocks) && body.blocks.length < SHORT_ROWS;
}

/**
 * The key of the short list that answers a call, whatever its `limit`; `undefined` for a call that none answers: of
 * another operation, with an `offset`, or with a small `limit`. `key`: the call's own key.
 */
export function shortListKey({ operation, request }: Call, key: string): string | undefined {
  if (operation.name !== 'masterchainBlockShards') return undefined;
  let namesPage = false;
  for (const [name, value] of request.query) {
    if (name !== 'limit' && name !== 'offset') continue;
    if (name === 'limit' ? Number(value) < SHORT_ROWS : Number(value) !== 0) return undefined;
    namesPage = true;
  }
  // Most calls name none, and each hit comes by here.
  return `${namesPage ? key.replaceAll(/&(?:limit|offset)=[0-9]+/g, '') : key}&short`;
}
