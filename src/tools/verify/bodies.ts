import { isObject } from '../../json-object.ts';
import type { OperationName } from '../../ton/operations.ts';

const LISTS: Readonly<Record<OperationName, readonly string[]>> = {
  pendingTraces: ['traces'],
  adjacentTransactions: ['transactions'],
  masterchainBlockShards: ['blocks', 'transactions'],
};

/** Finds the operation's list in a body, with what is wrong with it. A missing list has no rows and a problem. */
export function listIn(operation: OperationName, body: unknown) {
  const expected = LISTS[operation];
  const name = expected.find((list) => isObject(body) && list in body) ?? expected.join(' or ');
  const list = isObject(body) ? body[name] : undefined;
  const rows: readonly unknown[] = Array.isArray(list) ? list : [];
  const isList = list === null || (Array.isArray(list) && rows.every(isObject));
  return { name, rows, problems: isList ? [] : [`${name} is no list of objects`] };
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
