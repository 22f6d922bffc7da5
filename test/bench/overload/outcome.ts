import type { Heard } from '../support/connections.ts';
import type { Call } from './calls.ts';

/** How a request ended for the client: `hit` and `miss` are right, `shed` is 503 with `Retry-After`. */
export type Outcome = 'hit' | 'miss' | 'shed' | 'left' | { readonly error: string };

/** What an answer, or the loss of one, is worth to the one who made that call. */
export function outcomeOf(call: Call, { status, body, hasRetryAfter, isHit }: Heard): Outcome {
  if (status === 0) return body === 'left' ? 'left' : { error: body };
  if (status === 503 && hasRetryAfter) return 'shed';
  if (status !== 200) return { error: String(status) };
  if (!body.includes(call.says)) return { error: 'wrong answer' };
  return isHit ? 'hit' : 'miss';
}

export function isRight(outcome: Outcome): boolean {
  return outcome === 'hit' || outcome === 'miss';
}
