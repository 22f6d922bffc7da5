import { isObject } from './body-shape.ts';

/** Mutable even where the rest is final: names and interfaces of accounts. */
const MUTABLE: readonly string[] = ['address_book', 'metadata'];

/** Whether two answers agree in all that must not change. */
export function isUnchanged(before: unknown, after: unknown): boolean {
  const [one, other] = [settledPart(before), settledPart(after)];
  return one.length === other.length && one.every((text, at) => text === other[at]);
}

/** Whether all that must not change is still there; more may have come. */
export function hasOnlyGrown(before: unknown, after: unknown): boolean {
  const present = new Set(settledPart(after));
  return settledPart(before).every((text) => present.has(text));
}

/**
 * What must not change in a final answer, as texts in a fixed order: its rows, and its other members but the mutable
 * ones. The indexer keeps no order of rows.
 */
function settledPart(body: unknown): readonly string[] {
  if (!isObject(body)) return [JSON.stringify(body) ?? ''];
  return Object.entries(body)
    .filter(([name]) => !MUTABLE.includes(name))
    .flatMap(([name, value]) => [value].flat().map((item) => `${name} ${JSON.stringify(item)}`))
    .sort();
}
