const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

/**
 * Whether a JSON text may hold more than `most` values. Counts commas and opening brackets outside of strings and stops
 * at the first one too many; in a text that is not JSON the count means nothing. 8 MiB of short values would take
 * `JSON.parse` up to 4 s and 300 MB of heap.
 */
export function hasMoreValues(json: Uint8Array, most: number): boolean {
  let values = 1;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfString(json, at);
    } else if (byte === COMMA || byte === BRACKET || byte === BRACE) {
      if (++values > most) return true;
    }
  }
  return false;
}

/** Where the string that begins at `start` ends; the end of the text where it does not. */
function endOfString(json: Uint8Array, start: number): number {
  for (let end = json.indexOf(QUOTE, start + 1); end >= 0; end = json.indexOf(QUOTE, end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}
