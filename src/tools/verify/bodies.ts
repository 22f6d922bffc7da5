import type { OperationName } from '../../ton/operations.ts';

type JsonMembers = Readonly<Record<string, unknown>>;

/** The rows of an answer's list, with what is wrong with them. A missing list has no rows and a problem. */
export interface Listing {
  readonly name: string;
  readonly rows: readonly unknown[];
  readonly problems: readonly string[];
}

const LISTS: Readonly<Record<OperationName, readonly string[]>> = {
  pendingTraces: ['traces'],
  adjacentTransactions: ['transactions'],
  masterchainBlockShards: ['blocks', 'transactions'],
};

/** Finds the operation's list in a body. */
export function listIn(operation: OperationName, body: unknown): Listing {
  const expected = LISTS[operation];
  const name = isObject(body) ? expected.find((list) => list in body) : undefined;
  if (name === undefined || !isObject(body)) return noList(expected.join(' or '), 'is missing');
  const list = body[name];
  if (list === null) return { name, rows: [], problems: [] };
  if (!Array.isArray(list)) return noList(name, 'is no list');
  return { name, rows: list, problems: list.every(isObject) ? [] : [`${name} holds more than objects`] };
}

/** Whether a body is the indexer's form of an error. */
export function isErrorBody(body: unknown): boolean {
  return isObject(body) && typeof body['error'] === 'string' && body['error'] !== '';
}

/** A JSON object, neither list nor null. */
export function isObject(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function noList(name: string, why: string): Listing {
  return { name, rows: [], problems: [`${name} ${why}`] };
}

/** Members that can change even in a final answer: names and interfaces of accounts. */
const MUTABLE: readonly string[] = ['address_book', 'metadata'];

/** Whether two answers agree in everything that must not change. */
export function isUnchanged(before: unknown, after: unknown): boolean {
  const [one, other] = [settledPart(before), settledPart(after)];
  return one.length === other.length && one.every((text, at) => text === other[at]);
}

/** Whether a later answer still holds everything that must not change; it may hold more. */
export function hasOnlyGrown(before: unknown, after: unknown): boolean {
  const present = new Set(settledPart(after));
  return settledPart(before).every((text) => present.has(text));
}

/**
 * What must not change in a final answer, as sorted texts: its rows, and its other members except the mutable ones.
 * Sorted, because the indexer returns rows in no fixed order.
 */
function settledPart(body: unknown): readonly string[] {
  if (!isObject(body)) return [JSON.stringify(body) ?? ''];
  return Object.entries(body)
    .filter(([name]) => !MUTABLE.includes(name))
    .flatMap(([name, value]) => [value].flat().map((item) => `${name} ${JSON.stringify(item)}`))
    .sort();
}
