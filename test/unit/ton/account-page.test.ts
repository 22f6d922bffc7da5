import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json-object.ts';
import { completenessOfAccountPage, evidenceOfAccountPage } from '../../../src/ton/account-page.ts';
import { type Evidence, type ShownRow, showsRow } from '../../../src/ton/evidence.ts';
import { ACCOUNT, requestOf } from './requests.ts';

const NOW = 1_700_000_000;

/** A row in the indexer's form, with the logical time of the previous transaction. */
interface Row {
  readonly lt: string;
  readonly prev_trans_lt: string;
  readonly hash: string;
  readonly now: number;
  readonly mc_block_seqno: number;
}

/**
 * The transactions of the account, oldest first: transaction n has the lt 10 n and the time {@link NOW} + n seconds.
 */
function history(length: number): Row[] {
  return Array.from({ length }, (_, at) => rowOf(at + 1));
}

function rowOf(nth: number): Row {
  const [lt, previous] = [nth * 10, (nth - 1) * 10];
  return { lt: `${lt}`, prev_trans_lt: `${previous}`, hash: `hash ${nth}`, now: NOW + nth, mc_block_seqno: nth };
}

const shownOf = ({ lt, hash, now }: Row): ShownRow => ({ lt: BigInt(lt), hash, now });

function evidenceOf(
  query: string,
  transactions: readonly object[] | null,
  rest: JsonObject = {},
): Evidence | undefined {
  const request = requestOf('transactions', `account=${ACCOUNT}${query}`);
  return evidenceOfAccountPage(request, { transactions, ...rest } as JsonObject);
}

describe('a page of the newest transactions', () => {
  const page = history(5).toReversed();

  test('shows its own rows, but no newer row', () => {
    const evidence = evidenceOf('&limit=10', page);
    expect(page.every((row) => evidence !== undefined && showsRow(evidence, shownOf(row)))).toBe(true);
    expect(evidence && showsRow(evidence, shownOf(rowOf(6)))).toBe(false);
  });

  test('that is full may omit rows older than its oldest row', () => {
    const full = evidenceOf('&limit=3', page.slice(0, 3));
    expect(full && showsRow(full, shownOf(rowOf(2)))).toBe(true);
  });

  test('that is not full may not omit an older row', () => {
    const short = evidenceOf('&limit=10', page.slice(0, 3));
    expect(short && showsRow(short, shownOf(rowOf(2)))).toBe(false);
  });

  test.each([10, 100])('without a limit may not omit an older row, also if it has %i rows', (length) => {
    const rows = history(length + 1)
      .toReversed()
      .slice(0, length);
    const evidence = evidenceOf('', rows);
    expect(evidence && showsRow(evidence, shownOf(rowOf(1)))).toBe(false);
  });

  test('proves nothing if a row is missing between two others', () => {
    expect(evidenceOf('&limit=10', [page[0], page[2], page[3]] as Row[])).toBe(undefined);
  });

  test('that is empty shows no transactions', () => {
    for (const nothing of [[], null]) {
      const evidence = evidenceOf('', nothing);
      expect(evidence && showsRow(evidence, shownOf(rowOf(1)))).toBe(false);
    }
  });

  test.each([
    ['is not final', { mc_block_seqno: 0 }],
    ['is emulated', { emulated: true }],
    ['has no lt', { lt: undefined }],
    ['has an lt that is a number', { lt: 50 }],
    ['has an lt beyond 64 bits', { lt: `${2n ** 64n}` }],
    ['does not name the previous transaction', { prev_trans_lt: undefined }],
    ['has no hash', { hash: undefined }],
  ])('proves nothing if a row %s', (_, changes) => {
    expect(evidenceOf('', [{ ...rowOf(1), ...changes }])).toBe(undefined);
  });
});

describe('a page with a start', () => {
  test('may omit rows before start_lt, but no row from it on', () => {
    const evidence = evidenceOf('&start_lt=40', history(5).toReversed().slice(0, 2));
    expect(evidence && [3, 4, 5, 6].map((nth) => showsRow(evidence, shownOf(rowOf(nth))))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('may omit rows before start_utime, but no row from it on', () => {
    const evidence = evidenceOf(`&start_utime=${NOW + 6}`, []);
    expect(evidence && [5, 6].map((nth) => showsRow(evidence, shownOf(rowOf(nth))))).toEqual([true, false]);
  });

  test('proves nothing if its oldest row names a previous transaction that belongs to the page', () => {
    expect(evidenceOf('&start_lt=20', [rowOf(4), rowOf(3)])).toBe(undefined);
  });

  test('that is full may omit rows older than its oldest row', () => {
    const evidence = evidenceOf('&start_lt=10&limit=2', [rowOf(5), rowOf(4)]);
    expect(evidence && showsRow(evidence, shownOf(rowOf(2)))).toBe(true);
  });
});

describe('a page in ascending order', () => {
  test('shows its rows and may omit rows before start_lt, but no newer row', () => {
    const evidence = evidenceOf('&sort=asc&start_lt=20', history(5).slice(1));
    expect(evidence && [1, 2, 5, 6].map((nth) => showsRow(evidence, shownOf(rowOf(nth))))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('proves nothing once it is full, because it does not contain newer transactions', () => {
    expect(evidenceOf('&sort=asc&limit=3', history(3))).toBe(undefined);
  });

  test('proves nothing if a row is missing between two others', () => {
    expect(evidenceOf('&sort=asc', [rowOf(1), rowOf(3)])).toBe(undefined);
  });
});

test('for any history, a correct page with evidence shows every row, and an incomplete page does not', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 1, max: 30 }),
      fc.constantFrom('asc', 'desc'),
      fc.integer({ min: 0, max: 300 }),
      fc.nat(30),
      (length, limit, sort, startLt, missing) => {
        const rows = history(length).filter(({ lt }) => Number(lt) >= startLt);
        const ordered = sort === 'asc' ? rows : rows.toReversed();
        const page = ordered.slice(0, limit);
        const visible = history(length).filter((_, at) => at + 1 !== missing);
        const lagging = (sort === 'asc' ? visible : visible.toReversed())
          .filter(({ lt }) => Number(lt) >= startLt)
          .slice(0, limit);
        const evidence = evidenceOf(`&limit=${limit}&sort=${sort}&start_lt=${startLt}`, lagging);
        const shows = (row: Row) => evidence !== undefined && showsRow(evidence, shownOf(row));
        const isRight = lagging.every((row, at) => row.hash === page[at]?.hash) && lagging.length === page.length;
        // Once blocks have shown every row, a page that lacks one must not count as proven.
        if (!isRight) expect(history(length).every(shows)).toBe(false);
        else if (evidence !== undefined) expect(history(length).every(shows)).toBe(true);
      },
    ),
  );
});

test('names do not end the proof of a page sooner', () => {
  for (const rest of [{}, { address_book: {} }, { address_book: { [ACCOUNT]: {} } }])
    expect(evidenceOf('', [rowOf(1)], rest)?.hasClaims).toBe(false);
});

test('the order of a page rises with its newest row, then with the number of its rows, then with its oldest row', () => {
  // The cast: an interface such as `Row` has no index signature.
  const orderOf = (rows: readonly Row[]) =>
    completenessOfAccountPage({ transactions: rows } as unknown as JsonObject).order;
  const pages = [[], [rowOf(1)], [rowOf(4)], [rowOf(4), rowOf(1)], [rowOf(4), rowOf(3)], [rowOf(5)]];
  const orders = pages.map((page) => orderOf(page) ?? -1n);
  expect(orders).toEqual(orders.toSorted((one, other) => (one < other ? -1 : 1)));
  expect(new Set(orders).size).toBe(orders.length);
});
