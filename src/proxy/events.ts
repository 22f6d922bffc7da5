import type { ErrorCode } from '../errors.ts';
import type { OperationName } from '../ton/operations.ts';
import type { ShedReason } from './overloaded.ts';

/** What the indexer is asked for: the cached operations, and all that is passed through. */
export type UpstreamOperation = OperationName | 'passThrough';

/** What the indexer is sent: beside what clients ask for, the proxy's own question for the head of the chain. */
export type SentOperation = UpstreamOperation | 'masterchainInfo';

/** How a request was answered, in one word. */
export type Outcome =
  | 'hit-memory'
  | 'hit-redis'
  | 'stale'
  | 'miss'
  | 'collapsed'
  | 'beyond-head'
  | 'failed'
  | 'invalid';

/** What happens on a request's way, for those who count and log. */
export type ProxyEvent =
  | { readonly name: 'answered'; readonly operation: OperationName; readonly outcome: Outcome }
  | { readonly name: 'failed'; readonly operation: OperationName; readonly code: ErrorCode }
  | { readonly name: 'shed'; readonly operation: UpstreamOperation; readonly reason: ShedReason }
  | {
      readonly name: 'upstream-answered';
      readonly operation: SentOperation;
      readonly status: number;
      readonly ms: number;
    }
  | {
      readonly name: 'upstream-failed';
      readonly operation: SentOperation;
      readonly code: ErrorCode;
      readonly ms: number;
      readonly cause: unknown;
    }
  | { readonly name: 'stored'; readonly operation: OperationName; readonly answerClass: string }
  | { readonly name: 'regressed'; readonly operation: OperationName }
  | { readonly name: 'followed'; readonly operation: OperationName }
  | { readonly name: 'breaker'; readonly operation: UpstreamOperation; readonly state: 'open' | 'closed' }
  /** What came was no answer to the question, whatever its status said. */
  | { readonly name: 'upstream-useless'; readonly operation: UpstreamOperation; readonly code: ErrorCode }
  /** The newest masterchain block that the indexer is known to have is another one. */
  | { readonly name: 'newest-block'; readonly seqno: number }
  /** The indexer asked for a pause of so many milliseconds (429), or answered after it. */
  | { readonly name: 'pause'; readonly state: 'begun'; readonly ms: number }
  | { readonly name: 'pause'; readonly state: 'ended' }
  /** Whether Redis counts the rate for all instances, or this one alone for itself. */
  | { readonly name: 'rate-shared'; readonly shared: boolean }
  | { readonly name: 'key-refused'; readonly status: number }
  | { readonly name: 'bug'; readonly error: unknown };

/** Told of what happens; must not throw. */
export type Report = (event: ProxyEvent) => void;
