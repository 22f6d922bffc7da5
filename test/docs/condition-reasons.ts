import type { ConditionName } from '../../src/tell/conditions.ts';

/** An example of the reason of each condition whose words contain one. */
export const CONDITION_REASONS: Readonly<Partial<Record<ConditionName, string>>> = {
  'no-answer': 'the indexer answers 500',
  'one-unanswered': 'the indexer answers 429 for one key or path',
  'passed-fails': 'the indexer answers 502 to 87 % of the passed-through requests',
  'limited-most': '10.0.7.0/24 exceeds its limit',
  'no-head': 'masterchainInfo is answered with 404',
  'head-fell': '1,250',
  'head-still': '5 min',
  'head-old': '41 h',
  'backup-in-use': 'a:8081 is unreachable',
  'key-refused': 'refuses our API key (401): check UPSTREAM_API_KEY',
  'breaker-open': 'answers 500',
  'indexer-fails': 'does not answer in time',
  overloaded: 'there are more requests than the indexer can answer',
  slow: 'requests wait for a slot at the indexer',
  'not-served': 'start it with -redis',
  'clock-wrong': 'the clock of Redis is 2 min behind that of this machine',
  'memory-small': 'it evicts 3.0 fresh entries a second, and hits are 49 %',
  'one-client': 'one client has 83 % of the backlog',
  'client-limited': '10.0.7.0/24 exceeds its limit',
  'short-history': "b's history begins at block 1006: give all indexers the same history",
  'indexer-error': 'answers 500',
};
