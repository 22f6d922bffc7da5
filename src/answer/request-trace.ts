import type { RequestHeaders } from '../ton/parse-call.ts';

/** `version-trace id-parent id-flags`; `ff` is no version, and ids of zeros are none (W3C Trace Context 3.2.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The client's `traceparent`, which is sent on to the indexer; `undefined` if it is missing or malformed. */
export function traceparentOf(headers: RequestHeaders): string | undefined {
  const given = headers['traceparent'];
  return typeof given === 'string' && TRACEPARENT.test(given) ? given : undefined;
}
