import { isObject } from '../../json-object.ts';

/** What a body lists. */
export interface FoundRows {
  /** Which list it is. */
  readonly name: string;
  readonly rows: readonly unknown[];
  readonly problems: readonly string[];
}

/** Finds the rows in a body, with what is wrong with them. Where there are none that could be read, that is a problem. */
export type RowsIn = (body: unknown) => FoundRows;

/** Finds the rows of the first of these lists that a body has. A list of no rows may be `null`. */
export function listed(...lists: readonly string[]): RowsIn {
  return (body) => {
    const name = lists.find((list) => isObject(body) && list in body) ?? lists.join(' or ');
    const list = isObject(body) ? body[name] : undefined;
    const rows: readonly unknown[] = Array.isArray(list) ? list : [];
    const isList = list === null || (Array.isArray(list) && rows.every(isObject));
    return { name, rows, problems: isList ? [] : [`${name} is no list of objects`] };
  };
}

/** What is wrong with a body that must be the indexer's form of an error. */
export function errorBodyProblems(body: unknown): readonly string[] {
  const isError = isObject(body) && typeof body['error'] === 'string' && body['error'] !== '';
  return isError ? [] : ['the body is not {"error":"..."}'];
}

/** Members that can change even in a final answer: names and interfaces of accounts. */
const MUTABLE: readonly string[] = ['address_book', 'metadata'];

/** Whether two answers agree in everything that must not change. */
export function isUnchanged(before: unknown, after: unknown): boolean {
  return settledPart(before).join('\n') === settledPart(after).join('\n');
}

/** Whether a later answer still holds everything that must not change; it may hold more. */
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
