import { isDeepStrictEqual } from 'node:util';
import type { Chain } from '../simulator/chain.ts';
import type { ClientAnswer } from './client.ts';
import { type Truth, truthsOf } from './ground-truth.ts';

/** The longest excerpt of an answer that is shown. */
const MOST_CHARACTERS = 160;

/** A flight takes followers for so long: they may get what was true when it started. */
const FLIGHT_MS = 1000;

/**
 * Says what is wrong with an answer, or nothing when it is right: it has to be, member for member, what the chain said
 * at some instant between the asking and the receiving, or at most as long before as an answer of its class may be given
 * again, and `graceMs` longer. There is no excuse for a status but 200 and 404: the demo's indexer never fails.
 */
export function checkAnswer(answer: ClientAnswer, chain: Chain, graceMs: number): string | undefined {
  const { status, text, sentAt, receivedAt } = answer;
  if (status !== 200 && status !== 404) return 'only 200 and 404 can be right';
  const body: unknown = JSON.parse(text);
  const past = truthsOf(answer.call, chain)
    .filter(({ fromAt }) => fromAt <= receivedAt)
    .toReversed();
  const match = past.find((truth) => truth.status === status && isDeepStrictEqual(asJson(truth.body()), body));
  if (match === undefined) return `the chain never says this; ${differenceFrom(past[0], status, body)}`;
  const agedMs = sentAt - match.untilAt;
  const allowedMs = match.mayAgeMs + FLIGHT_MS + graceMs;
  if (agedMs <= allowedMs) return undefined;
  const ages = `true until ${Math.ceil(agedMs)} ms before it was asked for, ${Math.floor(allowedMs)} ms are allowed`;
  return `${ages}; ${differenceFrom(past[0], status, body)}`;
}

function differenceFrom(truth: Truth | undefined, status: number, body: unknown): string | undefined {
  const expected = asJson(truth?.body() ?? {});
  if (truth?.status === status) return firstDifference(expected, body);
  return `expected is ${truth?.status} ${excerpt(expected)}`;
}

/** As it looks after its way over the wire: without the members that are undefined. */
function asJson(body: object): unknown {
  return JSON.parse(JSON.stringify(body));
}

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
