import { isObject, type JsonObject } from '../json-object.ts';

/** An answer with more rows is invalid: a page holds at most 1000 blocks, and no real list has many more. */
const MOST_ROWS = 10_000;

/**
 * The body of an answer as `JSON.parse` makes it; `undefined` for invalid JSON, and for more than 10 000 rows. Text is
 * not decoded: every value that is read is ASCII. Never throws. 256 KiB of a body that is made to be slow take up to 50
 * ms, and half a million values 0.4 to 0.8 s (measured): bodies of more than 256 KiB belong in a worker, after {@link
 * costsTooMuch}.
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

/** No real answer nests this deep: the tree of a trace has two levels for each message of its longest path. */
const DEEPEST = 10_000;

/** Real answers have at most one value per 27 bytes, so this allows for answers of 13 MB. */
const MOST_VALUES = 500_000;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * True if parsing would take more memory than any real answer needs. The memory limit of a worker cannot prevent this:
 * V8 keeps a record outside of its heap for each open bracket (3 million take 350 MB), and a heap that fills within one
 * call of `JSON.parse` can end the process. Half a million values take at most 110 MB of heap (measured).
 */
export function costsTooMuch(json: Uint8Array): boolean {
  let depth = 0;
  let values = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isInString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === COMMA) values++;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++;
      values++;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    if (depth > DEEPEST || values > MOST_VALUES) return true;
  }
  return false;
}
