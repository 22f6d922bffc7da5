import { isFinal } from './finality.ts';
import { listedRows } from './listed-rows.ts';
import type { Call } from './parse-call.ts';

/** The body of the 404 that every version of the indexer sends for a seqno without a block. */
export const BLOCKS_NOT_FOUND = Buffer.from('{"error":"blocks not found"}');

/** The masterchain block that a call asks for; `undefined` for calls that name none. */
export function askedSeqno({ operation, request }: Call): number | undefined {
  if (operation.name !== 'masterchainBlockShards') return undefined;
  const seqno = request.query.find(([name]) => name === 'seqno')?.[1];
  return seqno === undefined ? undefined : Number(seqno);
}

/**
 * The highest seqno of a committed masterchain block in an answer, by its parsed body; `undefined` where there is none.
 * Pending traces show none: they come from the emulator, which can be ahead of the database.
 */
export function highestSeqnoIn({ operation }: Call, body: unknown): number | undefined {
  if (operation.name === 'pendingTraces' || !isObject(body)) return undefined;
  let highest: number | undefined;
  for (const row of listedRows(operation, body)) {
    const seqno = isFinal(row)
      ? row['mc_block_seqno']
      : isObject(row) && row['workchain'] === -1
        ? row['seqno']
        : undefined;
    if (isSeqno(seqno) && seqno > (highest ?? -1)) highest = seqno;
  }
  return highest;
}

/** Whether a value is a masterchain seqno: an int32 that is not negative. */
export function isSeqno(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2_147_483_647;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
