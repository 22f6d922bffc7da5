import { isObject } from '../../json-object.ts';

export interface FoundRows {
  readonly name: string;
  readonly rows: readonly unknown[];
  readonly problems: readonly string[];
}

/** Finds the rows in a body, with their problems. A body without readable rows is a problem. */
export type RowsIn = (body: unknown) => FoundRows;

/** Finds the rows of the first of these lists in a body. An empty list may be `null`. */
export function listed(...lists: readonly string[]): RowsIn {
  return (body) => {
    const name = lists.find((list) => isObject(body) && list in body) ?? lists.join(' or ');
    const list = isObject(body) ? body[name] : undefined;
    const rows: readonly unknown[] = Array.isArray(list) ? list : [];
    const isList = list === null || (Array.isArray(list) && rows.every(isObject));
    return { name, rows, problems: isList ? [] : [`${name} is no list of objects`] };
  };
}

/** The problems of a body that must be an error in the indexer's form. */
export function errorBodyProblems(body: unknown): readonly string[] {
  const isError = isObject(body) && typeof body['error'] === 'string' && body['error'] !== '';
  return isError ? [] : ['the body is not {"error":"..."}'];
}

/** Members that can change even in a final answer: names and interfaces of accounts. */
const MUTABLE: readonly string[] = ['address_book', 'metadata'];

/** True if two answers agree in everything that must not change. */
export function isUnchanged(before: unknown, after: unknown): boolean {
  return settledPart(before).join('\n') === settledPart(after).join('\n');
}

/** True if a later answer still contains everything that must not change; it may contain more. */
export function hasOnlyGrown(before: unknown, after: unknown): boolean {
  return new Set(settledPart(before)).isSubsetOf(new Set(settledPart(after)));
}

/** Rows and other members that must not change, sorted, because the indexer returns rows in no fixed order. */
function settledPart(body: unknown): readonly string[] {
  if (!isObject(body)) return [JSON.stringify(body) ?? ''];
  return Object.entries(body)
    .filter(([name]) => !MUTABLE.includes(name))
    .flatMap(([name, value]) => [value].flat().map((item) => `${name} ${JSON.stringify(item)}`))
    .sort();
}
