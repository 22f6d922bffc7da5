// eslint-disable-next-line no-restricted-syntax -- an id only has to be new; nothing is decided by it
import { randomUUID } from 'node:crypto';
import type { Pairs } from '../ton/canonical-request.ts';
import type { RequestHeaders } from '../ton/parse-call.ts';

/** `version-trace id-parent id-flags`; version `ff` and ids of zeros are invalid (W3C Trace Context 3.2.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Short and plain enough for the log and for a header. */
const REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/** The client's own request id if it is at most 128 plain characters. */
export function givenIdOf(headers: RequestHeaders): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

/** The same, or a new one. */
export function requestIdOf(headers: RequestHeaders): string {
  return givenIdOf(headers) ?? randomUUID();
}

/** Headers that identify a request at the indexer: its id, and the client's `traceparent` if it is valid. */
export function traceOf(headers: RequestHeaders, requestId: string): Pairs {
  const given = headers['traceparent'];
  const id = ['X-Request-Id', requestId] as const;
  return typeof given === 'string' && TRACEPARENT.test(given) ? [id, ['traceparent', given]] : [id];
}
