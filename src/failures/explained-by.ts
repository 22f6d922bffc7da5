/** The conditions (`tell/conditions.ts`) that explain a failure or a refusal to operators. */
export type ExplainedBy =
  | 'indexer-error'
  | 'key-refused'
  | 'not-reached'
  | 'not-served'
  | 'breaker-open'
  | 'paused'
  | 'key-paused'
  | 'overloaded'
  | 'client-limited'
  | 'process-memory'
  | 'no-sockets'
  | 'shutting-down'
  | 'other-chain'
  | 'bug';
