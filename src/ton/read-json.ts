import {
  BACKSLASH,
  COMMA,
  F,
  LIST,
  LIST_END,
  MINUS,
  N,
  NOT_JSON,
  OBJECT,
  OBJECT_END,
  passColon,
  passNumber,
  passString,
  passValue,
  passWord,
  QUOTE,
  T,
  toNext,
  ZERO,
} from './json-syntax.ts';

/**
 * Which parts of a JSON text are read. At a place of the shape, strings, numbers and words are always read; a list or
 * an object that the shape does not describe further is read as an empty one.
 */
export interface Shape {
  /** The shape of each element of a list. */
  readonly elements?: Shape;
  /** The shapes of the members of an object, by name (plain ASCII). All other members are left out. */
  readonly members?: Members;
  /** The shape of all members of an object, whatever their names. */
  readonly everyMember?: Shape;
}

/** Members by the length of their names, because the length tells most of them apart. */
type Members = readonly (readonly Member[])[];

interface Member {
  readonly name: string;
  readonly bytes: Buffer;
  readonly shape: Shape;
}

/** What {@link readJson} gives. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A string, number, boolean or null. */
export const SCALAR: Shape = {};

export function listOf(elements: Shape): Shape {
  return { elements };
}

export function mapOf(everyMember: Shape): Shape {
  return { everyMember };
}

export function objectOf(shapes: Readonly<Record<string, Shape>>): Shape {
  const all = Object.entries(shapes).map(([name, shape]) => ({ name, bytes: Buffer.from(name, 'latin1'), shape }));
  const longest = Math.max(...all.map(({ bytes }) => bytes.length));
  const ofLength = (length: number) => all.filter(({ bytes }) => bytes.length === length);
  return { members: Array.from({ length: longest + 1 }, (_, length) => ofLength(length)) };
}

/**
 * What `JSON.parse` would make of a text, as far as the shape names it; `undefined` for what `JSON.parse` refuses, and
 * for more than 10 000 elements in the lists and maps that the shape names. Never throws. All other parts are checked
 * byte by byte without making objects, so nesting takes no stack. A real answer of 11 KB takes 0.6 of the time of
 * `JSON.parse`, dense rows of short values about the same time, the slowest megabyte 0.1 s (measured). As in
 * `JSON.parse`, the last of two members with one name counts, and names and strings may hold escapes.
 */
export function readJson(text: Buffer, shape: Shape): Json | undefined {
  try {
    return new Reader(text).readWhole(shape);
  } catch (error) {
    if (error !== NOT_JSON) throw error;
    return undefined;
  }
}

/**
 * The most elements of all lists and maps of the shape together: bounds the objects that a body of many small ones can
 * make.
 */
const MOST_ELEMENTS = 10_000;

/** A whole number of so many digits can be added up digit by digit without rounding. */
const EXACT_DIGITS = 15;

class Reader {
  readonly #text: Buffer;
  #at = 0;
  #elements = 0;

  constructor(text: Buffer) {
    this.#text = text;
  }

  readWhole(shape: Shape): Json {
    const value = this.#read(shape);
    if (toNext(this.#text, this.#at) < this.#text.length) throw NOT_JSON;
    return value;
  }

  /** Recurses only as deep as the shape. */
  #read(shape: Shape): Json {
    const start = toNext(this.#text, this.#at);
    const first = this.#text[start];
    this.#at = start;
    if (first === QUOTE) return this.#readString();
    if (first === LIST) {
      if (shape.elements !== undefined) return this.#readList(shape.elements);
    } else if (first === OBJECT) {
      if (shape.members !== undefined) return this.#readObject(shape.members);
      if (shape.everyMember !== undefined) return this.#readMap(shape.everyMember);
    } else if (first === T || first === F || first === N) {
      this.#at = passWord(this.#text, start, first);
      return first === N ? null : first === T;
    } else {
      this.#at = passNumber(this.#text, start);
      return this.#numberFrom(start);
    }
    this.#at = passValue(this.#text, start);
    return first === LIST ? [] : {};
  }

  #readList(elements: Shape): Json[] {
    const list: Json[] = [];
    if (this.#isOver(LIST_END)) return list;
    do list.push(this.#readElement(elements));
    while (this.#isFollowed(LIST_END));
    return list;
  }

  #readObject(members: Members): { [name: string]: Json } {
    const object: { [name: string]: Json } = {};
    if (this.#isOver(OBJECT_END)) return object;
    do {
      const start = this.#passName();
      const member = this.#memberAt(members, start);
      this.#at = passColon(this.#text, this.#at);
      if (member === undefined) this.#at = passValue(this.#text, this.#at);
      else object[member.name] = this.#read(member.shape);
    } while (this.#isFollowed(OBJECT_END));
    return object;
  }

  #readMap(everyMember: Shape): { [name: string]: Json } {
    // Without a prototype, so that `__proto__` is a name like any other.
    const map: { [name: string]: Json } = Object.create(null);
    if (this.#isOver(OBJECT_END)) return map;
    do {
      const start = this.#passName();
      const name = this.#stringFrom(start);
      this.#at = passColon(this.#text, this.#at);
      map[name] = this.#readElement(everyMember);
    } while (this.#isFollowed(OBJECT_END));
    return map;
  }

  #readElement(shape: Shape): Json {
    if (++this.#elements > MOST_ELEMENTS) throw NOT_JSON;
    return this.#read(shape);
  }

  /** Passes the opening bracket, and the closing one if that comes next (then `true`). */
  #isOver(end: number): boolean {
    this.#at = toNext(this.#text, this.#at + 1);
    if (this.#text[this.#at] !== end) return false;
    this.#at++;
    return true;
  }

  /** Passes what follows an element or a member: a comma (then `true`), or the end. */
  #isFollowed(end: number): boolean {
    const at = toNext(this.#text, this.#at);
    const byte = this.#text[at];
    if (byte !== COMMA && byte !== end) throw NOT_JSON;
    this.#at = at + 1;
    return byte === COMMA;
  }

  /** Returns the position of the name's first quote. */
  #passName(): number {
    const start = toNext(this.#text, this.#at);
    if (this.#text[start] !== QUOTE) throw NOT_JSON;
    this.#at = passString(this.#text, start);
    return start;
  }

  /** The member whose name began at `start` and was just passed. */
  #memberAt(members: Members, start: number): Member | undefined {
    for (const member of members[this.#at - start - 2] ?? []) if (this.#holds(member.bytes, start + 1)) return member;
    if (isPlain(this.#text, start, this.#at)) return undefined;
    const name = this.#stringFrom(start);
    return members[name.length]?.find((member) => member.name === name);
  }

  #holds(bytes: Buffer, at: number): boolean {
    for (let index = 0; index < bytes.length; index++) if (this.#text[at + index] !== bytes[index]) return false;
    return true;
  }

  #readString(): string {
    const start = this.#at;
    this.#at = passString(this.#text, start);
    return this.#stringFrom(start);
  }

  /** The string that began at `start` and was just passed. */
  #stringFrom(start: number): string {
    return isPlain(this.#text, start, this.#at)
      ? this.#text.toString('latin1', start + 1, this.#at - 1)
      : (JSON.parse(this.#text.toString('utf8', start, this.#at)) as string);
  }

  /** The number that began at `start` and was just passed. */
  #numberFrom(start: number): number {
    if (this.#at - start > EXACT_DIGITS || this.#text[start] === MINUS) return this.#parsedNumber(start);
    let value = 0;
    for (let at = start; at < this.#at; at++) {
      const digit = (this.#text[at] ?? 0) - ZERO;
      // A decimal point or an exponent.
      if (digit < 0 || digit > 9) return this.#parsedNumber(start);
      value = value * 10 + digit;
    }
    return value;
  }

  #parsedNumber(start: number): number {
    return Number(this.#text.toString('latin1', start, this.#at));
  }
}

/** Whether a string holds only ASCII and no escapes. */
function isPlain(text: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = text[at] ?? 0;
    if (byte === BACKSLASH || byte >= 0x80) return false;
  }
  return true;
}
