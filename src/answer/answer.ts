import type { Requester } from '../clients/client-addresses.ts';
import type { Operation } from '../ton/operations.ts';
import type { RequestHeaders } from '../ton/parse-call.ts';
import type { Ended } from './phase.ts';
import type { Wait } from './wait.ts';

/** A request for one of the operations, not parsed yet. */
export interface ProxyRequest {
  readonly operation: Operation;
  /** The query after `?`, unchanged. */
  readonly rawQuery: string;
  readonly headers: RequestHeaders;
  /** Of a `POST`. */
  readonly body?: Buffer | undefined;
  /** Begins this request's wait; the caller closes it. Not called for a hit in memory, which needs no deadline. */
  readonly openWait: () => Wait;
  /** Not called for a hit in memory, which has no id. */
  readonly requestId: () => string;
  /** Called for a request that failed. */
  readonly requester: () => Requester;
}

/** The result of a request: an entry to send, or a failure to report. */
export type Answer = Ended & {
  readonly key: string;
  /** The id of the request whose answer this one got. */
  readonly joined?: string | undefined;
};
