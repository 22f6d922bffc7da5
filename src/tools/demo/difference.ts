import { isDeepStrictEqual } from 'node:util';
import type { Said } from '../simulator/past-answers.ts';

/** The longest excerpt of an answer that is shown. */
const MOST_CHARACTERS = 160;

/** Describes in one line how an answer differs from the expected one. */
export function differenceFrom(expected: Said, found: Said): string {
  if (expected.status !== found.status) return `expected is ${expected.status} ${excerpt(expected.text)}`;
  const difference = firstDifference(parse(expected.text), parse(found.text));
  return difference ?? 'the bytes alone differ from what is expected';
}

/** The beginning of a value's JSON, or of a text. */
export function excerpt(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'missing');
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)`;
}

/** Where two JSON values first differ, and how; `undefined` if they are equal. */
function firstDifference(expected: unknown, found: unknown, path = 'it'): string | undefined {
  if (isDeepStrictEqual(expected, found)) return undefined;
  if (isNested(expected) && isNested(found)) {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      const difference = firstDifference(expected[name], found[name], path === 'it' ? name : `${path}.${name}`);
      if (difference !== undefined) return difference;
    }
  }
  return `${path} is ${excerpt(found)}, expected is ${excerpt(expected)}`;
}

function isNested(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
