import { isObject, type JsonObject } from '../json-object.ts';

/** An answer with a longer list is invalid: a page holds at most 1000 blocks, and no real list has many more rows. */
const MOST_ROWS = 10_000;

/**
 * The body of an answer as `JSON.parse` makes it; `undefined` for invalid JSON, and for a list of more than 10 000 rows.
 * Text is not decoded: every value that is read is ASCII. Never throws. 256 KiB take 2 ms: larger bodies belong in a
 * worker.
 */
export function parseAnswer(bytes: Buffer): unknown {
  try {
    const body: unknown = JSON.parse(bytes.toString('latin1'));
    // A row has at least one byte and a comma.
    return bytes.length > 2 * MOST_ROWS && isObject(body) && hasTooManyRows(body) ? undefined : body;
  } catch {
    return undefined;
  }
}

/** True if a list of the body, or one in a row of it, is too long: a trace contains its transactions, by their hashes. */
function hasTooManyRows(body: JsonObject): boolean {
  // Not an object of the body: an answer can name more accounts than it has rows.
  return Object.values(body).some((list) => Array.isArray(list) && (isTooLong(list) || list.some(holdsTooManyRows)));
}

function holdsTooManyRows(row: unknown): boolean {
  if (!isObject(row)) return false;
  for (const name in row) if (isTooLong(row[name])) return true;
  return false;
}

function isTooLong(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  return (Array.isArray(part) ? part : Object.keys(part)).length > MOST_ROWS;
}
