/** The most bytes of the strings of one reply: twice the largest entry. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * The most items that the lists of one reply may announce: the parser allocates memory for them before the first one
 * comes.
 */
const MOST_ITEMS = 1_000_000;

/** How deep lists may be nested. Replies to the commands used here are nested 3 deep. */
const DEEPEST = 32;

/** The longest line (a number, a length, an error message), in bytes. */
const LONGEST_LINE = 64 * 1024;

const CR = 13;
const LF = 10;

/** What a line may hold after its type byte, and what it announces, if anything. */
const LINES: Readonly<Record<string, { readonly text: RegExp; readonly announces?: 'bytes' | 'items' | 'pairs' }>> = {
  '+': { text: /^[^\r]*$/ },
  '-': { text: /^[^\r]*$/ },
  ':': { text: /^[+-]?\d{1,19}$/ },
  '(': { text: /^[+-]?\d+$/ },
  ',': { text: /^[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf|nan)$/ },
  '#': { text: /^[tf]$/ },
  _: { text: /^$/ },
  $: { text: /^(?:-1|\d{1,10})$/, announces: 'bytes' },
  '!': { text: /^\d{1,10}$/, announces: 'bytes' },
  '=': { text: /^\d{1,10}$/, announces: 'bytes' },
  '*': { text: /^(?:-1|\d{1,10})$/, announces: 'items' },
  '~': { text: /^\d{1,10}$/, announces: 'items' },
  '>': { text: /^\d{1,10}$/, announces: 'items' },
  '%': { text: /^\d{1,10}$/, announces: 'pairs' },
};

/**
 * Checks the bytes of one connection: throws when they are not RESP (RESP2 and RESP3 as Redis speaks them) or announce
 * more than fits in memory. It keeps no values. Bytes that passed are safe for a parser that trusts its input.
 */
export class ReplySyntax {
  /** The number of items that each open list still lacks, the innermost list last. */
  readonly #open: number[] = [];
  #line = '';
  #stringBytesLeft = 0;
  #replyBytes = 0;
  #replyItems = 0;

  /** Checks the next bytes. Throws at the first wrong one; the connection must not be used afterwards. */
  check(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at = this.#stringBytesLeft > 0 ? this.#skipString(chunk, at) : this.#readLine(chunk, at);
  }

  #skipString(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#stringBytesLeft);
    const left = this.#stringBytesLeft - (end - from);
    // The last two bytes are CR LF; either may be the first of a chunk.
    const crAt = end - 2 + left;
    const lfAt = crAt + 1;
    if (crAt >= from && crAt < end && chunk[crAt] !== CR) throw new Error('a string is longer than announced');
    if (lfAt >= from && lfAt < end && chunk[lfAt] !== LF) throw new Error('a string is longer than announced');
    this.#stringBytesLeft = left;
    if (left === 0) this.#itemEnded();
    return end;
  }

  #readLine(chunk: Buffer, from: number): number {
    const lf = chunk.indexOf(LF, from);
    const end = lf < 0 ? chunk.length : lf;
    if (this.#line.length + end - from > LONGEST_LINE) throw new Error('a line is too long');
    const line = this.#line + chunk.toString('latin1', from, end);
    if (lf < 0) {
      this.#line = line;
      mustBeKnown(line);
      return end;
    }
    this.#line = '';
    if (!line.endsWith('\r')) throw new Error('a line ends without CR');
    this.#readType(line.slice(0, -1));
    return lf + 1;
  }

  #readType(line: string): void {
    const { text, announces } = mustBeKnown(line);
    const said = line.slice(1);
    if (!text.test(said)) throw new Error(`a line of type "${line[0]}" makes no sense`);
    const count = announces === undefined ? 0 : Number(said);
    if (announces === undefined || count < 0) this.#itemEnded();
    else if (announces === 'bytes') this.#openString(count);
    else this.#openList(announces === 'pairs' ? 2 * count : count);
  }

  #openString(bytes: number): void {
    this.#replyBytes += bytes;
    if (this.#replyBytes > MOST_BYTES) throw new Error(`a reply is larger than ${MOST_BYTES} bytes`);
    this.#stringBytesLeft = bytes + 2;
  }

  #openList(items: number): void {
    this.#replyItems += items;
    if (this.#replyItems > MOST_ITEMS) throw new Error(`a reply has more than ${MOST_ITEMS} items`);
    if (this.#open.length >= DEEPEST) throw new Error(`lists lie more than ${DEEPEST} deep in each other`);
    if (items === 0) this.#itemEnded();
    else this.#open.push(items);
  }

  #itemEnded(): void {
    for (let left = this.#open.pop(); left !== undefined; left = this.#open.pop()) {
      if (left > 1) {
        this.#open.push(left - 1);
        return;
      }
    }
    this.#replyBytes = 0;
    this.#replyItems = 0;
  }
}

function mustBeKnown(line: string): (typeof LINES)[string] {
  const type = line[0] ?? '';
  const known = Object.hasOwn(LINES, type) ? LINES[type] : undefined;
  if (known === undefined) throw new Error(`"${printable(type)}" is no type of RESP`);
  return known;
}

function printable(text: string): string {
  return text.replace(/[^ -~]/g, '?');
}
