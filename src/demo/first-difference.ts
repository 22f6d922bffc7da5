import { isDeepStrictEqual } from 'node:util';

const MOST_CHARACTERS = 160;

/** Where two JSON values first differ, and how, in one line of text; undefined when they are equal. */
export function firstDifference(expected: unknown, found: unknown, path = 'it'): string | undefined {
  if (isDeepStrictEqual(expected, found)) return undefined;
  if (isNested(expected) && isNested(found)) {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const difference = firstDifference(expected[name], found[name], path === 'it' ? name : `${path}.${name}`);
      if (difference !== undefined) return difference;
    }
  }
  return `${path} is ${excerpt(found)}, expected is ${excerpt(expected)}`;
}

/** The beginning of a value's JSON, or of a text. */
export function excerpt(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing');
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)`;
}

function isNested(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
