/** No real answer nests so deep: the tree of a trace has two levels for each message of its longest path. */
const DEEPEST = 10_000;

/** Real answers have a value for each 27 bytes or more, so this is room for those of 13 MB. */
const MOST_VALUES = 500_000;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Whether JSON would cost more memory to parse than any real answer does. The memory limit of a worker is no bound for
 * it: V8 keeps a record outside of its heap for each open bracket (3 million take 350 MB), and a heap that fills within
 * one call of `JSON.parse` can end the process. Half a million values take 110 MB of heap at most (measured).
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
