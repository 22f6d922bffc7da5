/** No real answer nests so deep: the tree of a trace has two levels for each message of its longest path. */
const DEEPEST = 10_000;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Whether JSON nests deeper than any real answer. V8's parser keeps a record outside of its heap for each open bracket,
 * which no limit of a worker bounds: 3 million brackets take it 350 MB (measured).
 */
export function nestsTooDeep(json: Uint8Array): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isInString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++;
      if (depth > DEEPEST) return true;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
  }
  return false;
}
