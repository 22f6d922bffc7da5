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
 * again. There is no excuse for a status but 200 and 404: the demo's indexer never fails.
 */
export function checkAnswer(answer: ClientAnswer, chain: Chain): string | undefined {
  const { status, text, sentAt, receivedAt } = answer;
  if (status === 0) return 'no answer came';
  if (status !== 200 && status !== 404) return 'only 200 and 404 can be right';
  const body = parseJson(text);
  if (body === undefined) return 'the body is not JSON';

  const known = truthsOf(answer.call, chain).toReversed();
  const isSaid = (truth: Truth) => truth.status === status && isDeepStrictEqual(asJson(truth.body()), body);
  const isTooOld = ({ untilAt, mayAgeMs }: Truth) => untilAt + mayAgeMs + FLIGHT_MS < sentAt;
  const [future, past] = [
    known.filter(({ fromAt }) => fromAt > receivedAt),
    known.filter(({ fromAt }) => fromAt <= receivedAt),
  ];
  const match = past.find(isSaid);
  if (match !== undefined && !isTooOld(match)) return undefined;
  const expected = past[0] === undefined ? '' : `; ${differenceFrom(past[0], status, body)}`;
  if (match !== undefined) {
    const agedMs = Math.ceil(sentAt - match.untilAt);
    return `true until ${agedMs} ms before it was asked for, ${Math.floor(match.mayAgeMs)} ms are allowed${expected}`;
  }
  return `the chain ${future.some(isSaid) ? 'says this only later' : 'never says this'}${expected}`;
}

function differenceFrom(truth: Truth, status: number, body: unknown): string {
  const expected = asJson(truth.body());
  return truth.status === status
    ? (firstDifference(expected, body) ?? 'it is true')
    : `expected is ${truth.status} ${excerpt(expected)}`;
}

/** As it looks after its way over the wire: without the members that are undefined. */
function asJson(body: object): unknown {
  return JSON.parse(JSON.stringify(body));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
