import { isObject, type JsonObject } from '../json-object.ts';
import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import { type ChainPoint, NO_POINT } from './chain-point.ts';
import type { AnswerCompleteness } from './completeness.ts';
import type { Evidence } from './evidence.ts';
import { isFull, isSurelyFull } from './lists.ts';
import { readLt } from './lt.ts';
import { type OwnerKey, TRANSFERS_TO_ANYBODY, transfersTo } from './owner-keys.ts';

/** A row of a page of transfers: the transaction of the sender's wallet. */
interface TransferRow {
  readonly lt: bigint;
  /** Unix seconds. */
  readonly now: number;
  readonly hash: string;
}

function rowsIn(list: unknown): readonly TransferRow[] | undefined {
  if (list === null) return [];
  if (!Array.isArray(list)) return undefined;
  const rows = list.map(rowOf);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

function rowOf(row: unknown): TransferRow | undefined {
  if (!isObject(row)) return undefined;
  const { transaction_hash: hash, transaction_now: now } = row;
  const lt = readLt(row['transaction_lt']);
  return lt === undefined || typeof hash !== 'string' || typeof now !== 'number' ? undefined : { lt, now, hash };
}

/**
 * The transfers that a page of the newest ones shows. `undefined` if a row is none.
 * @param keys Those of the transfers that the page lists, of `owner-keys.ts`.
 */
export function evidenceOfTransfers(
  request: CanonicalRequest,
  body: JsonObject,
  keys: readonly OwnerKey[],
): Evidence | undefined {
  const rows = rowsIn(body['jetton_transfers']);
  if (rows === undefined) return undefined;
  const owner = parameterOf(request, 'owner_address');
  const mayBeToAnybody = owner !== undefined && keys.includes(transfersTo(owner));
  return {
    kind: 'transfers',
    accounts: mayBeToAnybody ? [...keys, TRANSFERS_TO_ANYBODY] : keys,
    hasClaims: false,
    hashes: new Set(rows.map(({ hash }) => hash)),
    window: {
      fromLt: BigInt(parameterOf(request, 'start_lt') ?? 0),
      fromNow: Number(parameterOf(request, 'start_utime') ?? 0),
    },
    last: isSurelyFull(rows, request) ? rows.at(-1) : undefined,
  };
}

/** A page that is not full only gains rows. A full one loses others, and says nothing. */
export function completenessOfTransfers(request: CanonicalRequest, list: unknown): AnswerCompleteness {
  const rows = rowsIn(list) ?? [];
  const hashes = isFull(rows, request) ? [] : rows.map(({ hash }) => hash);
  return { rank: 1, hashes, tentativeHashes: [] };
}

/** The newest time of a transfer in a page. */
export function pointOfTransfers(list: unknown): ChainPoint {
  const newest = Math.max(0, ...(rowsIn(list) ?? []).map(({ now }) => now));
  return Number.isSafeInteger(newest) ? { ...NO_POINT, at: newest * 1000 } : NO_POINT;
}
