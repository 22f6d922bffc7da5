import type { Operation } from './operations.ts';

/** The rows that an answer of an operation lists, by its parsed body. Copies nothing where only one list has rows. */
export function listedRows({ lists }: Operation, body: Readonly<Record<string, unknown>>): readonly unknown[] {
  let rows: readonly unknown[] = [];
  for (const name of lists) {
    const list = body[name];
    if (Array.isArray(list)) rows = rows.length === 0 ? list : [...rows, ...list];
  }
  return rows;
}
