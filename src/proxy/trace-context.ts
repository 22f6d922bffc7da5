import type { RequestHeaders } from '../ton/parse-call.ts';

/** `version-trace id-parent id-flags`; `ff` is no version, and ids of zeros are none (W3C Trace Context 3.2.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace that a client's request belongs to, as it is passed on to the indexer; `undefined` for a malformed one. */
export function traceparentOf(headers: RequestHeaders): string | undefined {
  const given = headers['traceparent'];
  return typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined;
}
