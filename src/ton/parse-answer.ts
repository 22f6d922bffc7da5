import { isObject, type JsonObject } from '../json-object.ts';

/** An answer with more rows is invalid: a page holds at most 1000 blocks, and no real list has many more. */
const MOST_ROWS = 10_000;

/**
 * The body of an answer as `JSON.parse` makes it; `undefined` for invalid JSON, and for more than 10 000 rows. Text is
 * not decoded: every value that is read is ASCII. Never throws. 256 KiB take 2 ms: larger bodies belong in a worker.
 */
export function parseAnswer(bytes: Buffer): unknown {
  try {
    const body: unknown = JSON.parse(bytes.toString('latin1'));
    return isObject(body) && rowsIn(body) > MOST_ROWS ? undefined : body;
  } catch {
    return undefined;
  }
}

/** The rows of all lists, with the transactions and actions in traces. */
function rowsIn({ blocks, transactions, traces }: JsonObject): number {
  let rows = countOf(blocks) + countOf(transactions) + countOf(traces);
  if (!Array.isArray(traces) || rows > MOST_ROWS) return rows;
  for (const trace of traces) if (isObject(trace)) rows += countOf(trace['transactions']) + countOf(trace['actions']);
  return rows;
}

function countOf(list: unknown): number {
  if (Array.isArray(list)) return list.length;
  return isObject(list) ? Object.keys(list).length : 0;
}
