import { isObject, type JsonObject } from '../json-object.ts';

/** An answer with more rows is none: the largest real one lists about 1000. */
const MOST_ROWS = 10_000;

/**
 * The body of an answer as `JSON.parse` makes it; `undefined` for what is no JSON, and for more than 10 000 rows. Text is
 * not decoded: all that is read of a body is ASCII. Never throws. 256 KiB take up to 14 ms, a body of 8 MiB that is made
 * to be slow 3.7 s (measured): it belongs into a worker with a limit of memory.
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
