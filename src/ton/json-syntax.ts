// The grammar of RFC 8259, byte by byte. Each function takes a text and a position, passes one element of the grammar
// and returns the position after it, or throws NOT_JSON. They are plain functions because methods of an object that
// holds the position took twice the time.

/** Thrown at the first wrong byte. A symbol, because the stack of an Error would cost more than the reading. */
export const NOT_JSON: unknown = Symbol('not JSON');

const [TAB, LF, CR, SPACE] = [0x09, 0x0a, 0x0d, 0x20] as const;
const [PLUS, DOT, NINE, COLON] = [0x2b, 0x2e, 0x39, 0x3a] as const;
export const [QUOTE, COMMA, MINUS, ZERO, BACKSLASH] = [0x22, 0x2c, 0x2d, 0x30, 0x5c] as const;
export const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d] as const;
export const [F, N, T] = [0x66, 0x6e, 0x74] as const;
const [UPPER_E, LOWER_E, U] = [0x45, 0x65, 0x75] as const;
/** What may follow a backslash, beside `u`. */
const ESCAPABLE: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

/** Passes white space. */
export function toNext(text: Uint8Array, at: number): number {
  for (;;) {
    const byte = text[at];
    if (byte === undefined || byte > SPACE || !(byte === SPACE || byte === LF || byte === CR || byte === TAB))
      return at;
    at++;
  }
}

/** Passes a string, from its first quote. This is the hot loop: most bytes of an answer are in strings. */
export function passString(text: Uint8Array, start: number): number {
  let at = start + 1;
  for (;;) {
    const byte = text[at++];
    if (byte === undefined) throw NOT_JSON;
    if (byte > QUOTE && byte !== BACKSLASH) continue;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at = passEscape(text, at);
    else if (byte < SPACE) throw NOT_JSON;
  }
}

/** Passes what follows a backslash. */
function passEscape(text: Uint8Array, at: number): number {
  const escaped = text[at] ?? 0;
  if (ESCAPABLE.has(escaped)) return at + 1;
  if (escaped !== U) throw NOT_JSON;
  for (let index = 1; index <= 4; index++) if (!isHexDigit(text[at + index] ?? 0)) throw NOT_JSON;
  return at + 5;
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= ZERO && byte <= NINE) || (lower >= 0x61 && lower <= 0x66);
}

export function passNumber(text: Uint8Array, start: number): number {
  let at = start;
  if (text[at] === MINUS) at++;
  at = text[at] === ZERO ? at + 1 : passDigits(text, at);
  if (text[at] === DOT) at = passDigits(text, at + 1);
  const exponent = text[at];
  if (exponent !== UPPER_E && exponent !== LOWER_E) return at;
  const sign = text[at + 1];
  return passDigits(text, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
}

/** Passes one or more digits. */
function passDigits(text: Uint8Array, start: number): number {
  let at = start;
  for (let byte = text[at]; byte !== undefined && byte >= ZERO && byte <= NINE; byte = text[at]) at++;
  if (at === start) throw NOT_JSON;
  return at;
}

/** Passes `true`, `false` or `null`, as its first letter says. */
export function passWord(text: Uint8Array, start: number, first: number): number {
  const word = first === T ? 'true' : first === F ? 'false' : 'null';
  for (let index = 0; index < word.length; index++) if (text[start + index] !== word.charCodeAt(index)) throw NOT_JSON;
  return start + word.length;
}

/** Passes the name of a member and its colon. */
function passName(text: Uint8Array, start: number): number {
  const quote = toNext(text, start);
  if (text[quote] !== QUOTE) throw NOT_JSON;
  return passColon(text, passString(text, quote));
}

export function passColon(text: Uint8Array, start: number): number {
  const at = toNext(text, start);
  if (text[at] !== COLON) throw NOT_JSON;
  return at + 1;
}

/** Passes one value with all that it contains, at any depth. */
export function passValue(text: Uint8Array, start: number): number {
  const at = toNext(text, start);
  const first = text[at];
  return first === LIST || first === OBJECT ? passNested(text, at) : passScalar(text, at, first);
}

/** Passes a string, a number or a word. */
function passScalar(text: Uint8Array, start: number, first: number | undefined): number {
  if (first === QUOTE) return passString(text, start);
  return first === T || first === F || first === N ? passWord(text, start, first) : passNumber(text, start);
}

/** Passes a list or an object. Not by recursion, because the sender decides how deep it is. */
function passNested(text: Uint8Array, start: number): number {
  /** The open lists (`false`) and objects (`true`), the innermost last. */
  const open: boolean[] = [];
  let isObject = false;
  let at = start;
  for (;;) {
    at = toNext(text, at);
    const first = text[at];
    if (first === LIST || first === OBJECT) {
      at = toNext(text, at + 1);
      if (text[at] !== (first === LIST ? LIST_END : OBJECT_END)) {
        isObject = first === OBJECT;
        open.push(isObject);
        if (isObject) at = passName(text, at);
        continue;
      }
      at++;
    } else {
      at = passScalar(text, at, first);
    }
    // Pass what follows a value: the ends of the lists and objects that end with it, then a comma.
    for (;;) {
      if (open.length === 0) return at;
      at = toNext(text, at);
      const byte = text[at++];
      if (byte === COMMA) break;
      if (byte !== (isObject ? OBJECT_END : LIST_END)) throw NOT_JSON;
      open.pop();
      // An index of -1 is looked up like the name of a property: that took 2.7 % of a miss of 200 KB.
      isObject = open.length > 0 && open[open.length - 1] === true;
    }
    if (isObject) at = passName(text, at);
  }
}
