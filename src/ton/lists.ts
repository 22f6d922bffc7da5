import { type CanonicalRequest, parameterOf } from './canonical-request.ts';
import type { Finality, ReadFinality } from './finality.ts';
import type { LifetimeRule } from './lifetime-table.ts';

/** Reads the finality from the rows of a list with at least one row. */
type ReadRows<Rule extends LifetimeRule> = (rows: readonly unknown[], request: CanonicalRequest) => Finality<Rule>;

/**
 * The finality of an operation whose 200 contains one of these lists; of several the first one counts. An empty list is
 * absent, by the rule `whenEmpty`. A body without any of them is not an answer.
 */
export function finalityOfLists<Rule extends LifetimeRule, Empty extends Finality['rule']>(
  lists: Readonly<Record<string, ReadRows<Rule>>>,
  whenEmpty: Empty,
): ReadFinality<Rule | Exclude<Empty, 'notKept'>> {
  const absent = { rule: whenEmpty as Exclude<Empty, 'notKept'> | 'notKept' } as const;
  const known = Object.entries(lists);
  return (body, request) => {
    const found = known.find(([name]) => name in body);
    if (found === undefined) return undefined;
    const [name, read] = found;
    const list = body[name];
    if (list === null || (Array.isArray(list) && list.length === 0)) return absent;
    return Array.isArray(list) ? read(list, request) : undefined;
  };
}

export function isAscending(request: CanonicalRequest): boolean {
  return parameterOf(request, 'sort') === 'asc';
}

/** Page sizes that could be the indexer's default: 100 in its code, 10 in its document. */
const POSSIBLE_DEFAULT_LIMITS: readonly number[] = [10, 100];

/** True if a list has fewer rows than its page could hold. */
export function isShort(rows: readonly unknown[], request: CanonicalRequest): boolean {
  const limit = parameterOf(request, 'limit');
  return limit === undefined ? !isFull(rows, request) : rows.length < Number(limit);
}

/** Page sizes at which a provider may cut a list and not report it. */
const SILENT_CAPS: readonly number[] = [10, 20, 50, 100, 128, 200, 250, 256, 500];

/** True if neither its page nor a provider has cut a list. A provider may cut lists of {@link SILENT_CAPS} rows. */
export function isSurelyWhole(rows: readonly unknown[], request: CanonicalRequest): boolean {
  return isShort(rows, request) && !SILENT_CAPS.includes(rows.length);
}

/** True if a list has as many rows as its page can hold, so that `limit` may have cut it. */
export function isFull(rows: readonly unknown[], request: CanonicalRequest): boolean {
  const limit = parameterOf(request, 'limit');
  return limit === undefined ? POSSIBLE_DEFAULT_LIMITS.includes(rows.length) : rows.length === Number(limit);
}

/**
 * True only if the request itself names the number of rows that a list has. Without a limit, nothing tells a page of 10
 * or 100 rows that was cut from one that happens to have as many.
 */
export function isSurelyFull(rows: readonly unknown[], request: CanonicalRequest): boolean {
  return parameterOf(request, 'limit') !== undefined && isFull(rows, request);
}
