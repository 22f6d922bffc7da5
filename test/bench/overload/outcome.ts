import type { Call } from './calls.ts';
import type { Heard, Lost } from './connection.ts';

/** How a request ended for the client; `error` says in which way. */
export type Outcome =
  | { readonly kind: 'right'; readonly fromCache: boolean }
  /** 503 with `Retry-After`. */
  | { readonly kind: 'shed' }
  /** The client had waited for as long as it does. */
  | { readonly kind: 'left' }
  | { readonly kind: 'error'; readonly error: string };

/** What an answer, or the loss of one, is worth to the one who made that call. */
export function outcomeOf(call: Call, heard: Heard | Lost): Outcome {
  if ('lost' in heard) return { kind: 'error', error: heard.lost };
  if (heard.status === 503 && heard.hasRetryAfter) return { kind: 'shed' };
  if (heard.status !== 200) return { kind: 'error', error: String(heard.status) };
  if (!heard.body.includes(call.says)) return { kind: 'error', error: 'wrong answer' };
  return { kind: 'right', fromCache: heard.isHit };
}
