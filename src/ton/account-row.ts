import { isObject, type JsonObject } from '../json-object.ts';
import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import type { AnswerCompleteness } from './completeness.ts';
import type { Evidence } from './evidence.ts';
import type { Finality } from './finality.ts';
import { readLt } from './lt.ts';

/** The finality of an answer with a list of accounts' newest states. An empty list is an answer like any other. */
export function finalityOfAccountRows(list: unknown): Finality<'accountLive'> | undefined {
  return list === null || Array.isArray(list) ? { rule: 'accountLive' } : undefined;
}

/**
 * A row after a later transaction is more complete. `whenMissing`: the order of a list without a row; `undefined` if a
 * row can disappear.
 */
export function completenessOfAccountRow(list: unknown, whenMissing: 0n | undefined): AnswerCompleteness {
  const rows = Array.isArray(list) ? list : [];
  const order = rows.length === 0 ? whenMissing : lastLtOf(rows);
  return { order, rank: 1, hashes: [], tentativeHashes: [] };
}

/**
 * The newest transaction of the requested account that its one row shows. `undefined` for a missing row: nothing in the
 * body shows how new it is.
 */
export function evidenceOfAccountRow(request: CanonicalRequest, list: unknown): Evidence | undefined {
  const account = parameterOf(request, 'address') ?? '';
  const rows = Array.isArray(list) ? list : [];
  const lastLt = lastLtOf(rows);
  if (lastLt === undefined || !isRowOf(rows[0], account)) return undefined;
  // Interfaces of code and mintless claims change without a block, also in a body without names.
  return { kind: 'state', accounts: [account], hasClaims: true, lastLt };
}

function lastLtOf(rows: readonly unknown[]): bigint | undefined {
  const [row] = rows;
  return rows.length === 1 && isObject(row) ? readLt(row['last_transaction_lt']) : undefined;
}

function isRowOf(row: unknown, account: string): row is JsonObject {
  return isObject(row) && typeof row['address'] === 'string' && row['address'].toUpperCase() === account;
}
