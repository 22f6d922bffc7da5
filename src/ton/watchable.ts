import type { JsonObject } from '../json-object.ts';
import type { CanonicalRequest } from './canonical-request.ts';

/** The parts of an answer that the stream of events can announce, in the Streaming API's names. */
export interface Watchable {
  /** Accounts in the listed traces, at most 20 of each trace, in raw form. */
  readonly accounts: readonly string[];
  /** Normalized hashes of the external messages of the listed traces. */
  readonly traces: readonly string[];
}

/** How the answers of an operation are watched. */
export interface Watching {
  /** Reads the body of an answer; `undefined` for one that cannot be watched. */
  readonly watchableIn: (body: JsonObject) => Watchable | undefined;
  /** The accounts in a request, in raw form: they can be watched whatever the answer lists. */
  readonly accountsIn: (request: CanonicalRequest) => readonly string[];
}
