import { isObject } from './body-shape.ts';

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
