import { isDeepStrictEqual } from 'node:util';
import type { Chain } from './chain.ts';
import type { ClientCall } from './client-call.ts';
import { type Truth, truthsOf } from './ground-truth.ts';

/** An answer as a client got it. Instants are epoch ms, by the chain's clock. */
export interface ClientAnswer {
  readonly call: ClientCall;
  readonly sentAt: number;
  readonly receivedAt: number;
  /** 0 when none came; then `text` says why. */
  readonly status: number;
  readonly text: string;
}

/** A flight takes followers for so long: they may get what was true when it started. */
const FLIGHT_MS = 1000;

const EXCERPT = 160;

/**
 * Says what is wrong with an answer, or nothing when it is right: it has to be, byte for byte but for the order of
 * members, what the chain said at some instant between the asking and the receiving, or at most as long before as an
 * answer of its class may be told again. There is no excuse for other statuses: the demo's indexer never fails.
 */
export function checkAnswer(answer: ClientAnswer, chain: Chain): string | undefined {
  if (answer.status === 0) return `no answer: ${answer.text}`;
  if (answer.status !== 200 && answer.status !== 404) return 'only 200 and 404 can be right';
  const body = parseJson(answer.text);
  if (body === undefined) return 'the body is not JSON';
  const truths = truthsOf(answer.call, chain).toReversed();
  const isTold = (truth: Truth) => truth.status === answer.status && isDeepStrictEqual(asJson(truth.body()), body);
  const possible = truths.filter((truth) => isPossible(truth, answer));
  if (possible.some(isTold)) return undefined;
  const told = truths.find((truth) => !possible.includes(truth) && isTold(truth));
  const expected = `expected ${describe(possible)}`;
  if (told === undefined) return `the chain never said this; ${expected}`;
  if (told.fromAt > answer.receivedAt) return `the chain said this only after it was received; ${expected}`;
  const [agedMs, mayAgeMs] = [Math.ceil(answer.sentAt - told.untilAt), Math.floor(told.mayAgeMs)];
  return `true until ${agedMs} ms before it was asked for, ${mayAgeMs} ms are allowed; ${expected}`;
}

function isPossible({ fromAt, untilAt, mayAgeMs }: Truth, { sentAt, receivedAt }: ClientAnswer): boolean {
  return fromAt <= receivedAt && untilAt + mayAgeMs + FLIGHT_MS >= sentAt;
}

function describe([newest, ...earlier]: readonly Truth[]): string {
  if (newest === undefined) return 'nothing';
  const others = earlier.length === 0 ? '' : ` (or one of ${earlier.length} states before)`;
  return `${newest.status} ${excerpt(JSON.stringify(newest.body()))}${others}`;
}

/** The beginning of a body, on one line. */
export function excerpt(text: string): string {
  return text.length <= EXCERPT ? text : `${text.slice(0, EXCERPT)}… (${text.length} characters)`;
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
