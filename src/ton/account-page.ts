import { isObject, type JsonObject } from '../json-object.ts';
import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import { type AnswerCompleteness, orderOfPage } from './completeness.ts';
import type { Evidence } from './evidence.ts';
import { type Finality, isFinal } from './finality.ts';
import { isAscending, isShort, isSurelyFull } from './lists.ts';
import { readLt } from './lt.ts';

/** A row of a page of an account's transactions. */
interface PageRow {
  readonly lt: bigint;
  readonly previousLt: bigint;
  readonly hash: string;
}

/** The finality of a page of an account's transactions. An empty page is an answer like any other. */
export function finalityOfAccountPage({ transactions }: JsonObject): Finality<'accountLive'> | undefined {
  const isPage = transactions === null || Array.isArray(transactions);
  return isPage ? { rule: 'accountLive' } : undefined;
}

/** A page is more complete by {@link orderOfPage}. It has no order if {@link rowsOf} cannot read its rows. */
export function completenessOfAccountPage({ transactions }: JsonObject, isAscending = false): AnswerCompleteness {
  const lts = rowsOf(transactions)?.map(({ lt }) => lt);
  return { order: lts && orderOfPage(lts, isAscending), rank: 1, hashes: [], tentativeHashes: [] };
}

/**
 * The transactions of its account that a page shows. `undefined` if a row is not final, or a row is missing: each row
 * names the previous transaction, and blocks are committed out of order. Also `undefined` for a full page in ascending
 * order, which does not contain newer transactions.
 */
export function evidenceOfAccountPage(request: CanonicalRequest, body: JsonObject): Evidence | undefined {
  const rows = rowsOf(body['transactions']);
  if (rows === undefined) return undefined;
  const isOldestFirst = isAscending(request);
  const newestFirst = isOldestFirst ? rows.toReversed() : rows;
  const isWhole = !isSurelyFull(rows, request);
  if (!newestFirst.every((row, at) => isNextBefore(row, newestFirst[at + 1]))) return undefined;
  if (isOldestFirst && !isShort(rows, request)) return undefined;
  const startLt = BigInt(parameterOf(request, 'start_lt') ?? 0);
  const oldest = newestFirst.at(-1);
  if (isWhole && oldest !== undefined && startLt > 0n && oldest.previousLt >= startLt) return undefined;
  return {
    kind: 'page',
    accounts: [parameterOf(request, 'account') ?? ''],
    hasClaims: false,
    hashes: new Set(rows.map(({ hash }) => hash)),
    window: {
      fromLt: isWhole || oldest === undefined || oldest.lt < startLt ? startLt : oldest.lt,
      fromNow: Number(parameterOf(request, 'start_utime') ?? 0),
    },
  };
}

function isNextBefore({ previousLt }: PageRow, older: PageRow | undefined): boolean {
  return older === undefined || previousLt === older.lt;
}

/** The rows of a page; `undefined` if one of them is not final, or lacks a field that every transaction has. */
function rowsOf(transactions: unknown): readonly PageRow[] | undefined {
  if (transactions === null) return [];
  if (!Array.isArray(transactions)) return undefined;
  const rows = transactions.map(rowOf);
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

function rowOf(row: unknown): PageRow | undefined {
  if (!isObject(row) || !isFinal(row) || typeof row['hash'] !== 'string') return undefined;
  const [lt, previousLt] = [readLt(row['lt']), readLt(row['prev_trans_lt'])];
  return lt === undefined || previousLt === undefined ? undefined : { lt, previousLt, hash: row['hash'] };
}
