import { expect, test } from 'vitest';
import { renderCacheStatus } from '../../../src/answer/cache-status.ts';
import { cacheStatusOf, type Ended, outcomeOf, type Phase } from '../../../src/answer/phase.ts';
import { failure, ProxyError } from '../../../src/errors.ts';
import { anEntry } from '../../support/entry.ts';

const NOW = 1_800_000_000_000;
const fresh = anEntry({ freshUntil: NOW + 5500 });
const stale = anEntry({ freshUntil: NOW - 500 });
const loaded = { kind: 'loaded', entry: fresh, status: 200, stored: 'stored', replaced: false } as const;
const answered = (status: number) => new ProxyError('upstream-error', 'said', { upstreamStatus: status });
const refused = new ProxyError('overloaded', 'full');

test.each<[string, Phase, collapsed: boolean, outcome: string, cacheStatus: string]>([
  ['a fresh hit', { kind: 'hit', entry: fresh, tier: 'memory' }, false, 'hit-memory', 'hit; ttl=5; detail=memory'],
  [
    'a fresh hit in Redis',
    { kind: 'hit', entry: fresh, tier: 'redis' },
    false,
    'hit-redis',
    'hit; ttl=5; detail=redis',
  ],
  ['a stale hit', { kind: 'hit', entry: stale, tier: 'memory' }, false, 'stale', 'hit; ttl=-1; detail=memory'],
  ['a proven hit', { kind: 'proven', entry: stale }, false, 'hit-proven', 'hit; detail=proven'],
  ['an answer', loaded, false, 'miss', 'fwd=miss; fwd-status=200; stored'],
  ['the answer of another flight', loaded, true, 'collapsed', 'fwd=miss; fwd-status=200; stored; collapsed'],
  ['an answer for a stale copy', { ...loaded, replaced: true }, false, 'miss', 'fwd=stale; fwd-status=200; stored'],
  ['an answer that is never kept', { ...loaded, stored: 'never-kept' }, false, 'miss', 'fwd=miss; fwd-status=200'],
  ['an answer not kept', { ...loaded, stored: 'expired' }, false, 'miss', 'fwd=miss; fwd-status=200; detail=expired'],
  [
    'a copy instead of a failure',
    { kind: 'stale', entry: stale, tier: 'memory', error: answered(500) },
    true,
    'stale',
    'fwd=stale; fwd-status=500; collapsed; ttl=-1; detail=upstream-error',
  ],
  [
    'a copy instead of a refusal',
    { kind: 'stale', entry: stale, tier: 'redis', error: refused },
    false,
    'stale',
    'hit; ttl=-1; detail=redis',
  ],
  [
    'a failure',
    { kind: 'failed', error: answered(500) },
    false,
    'failed',
    'fwd=miss; fwd-status=500; detail=upstream-error',
  ],
  [
    'a mistake of the client',
    { kind: 'failed', error: answered(409) },
    false,
    'invalid',
    'fwd=miss; fwd-status=409; detail=upstream-error',
  ],
  ['a refusal', { kind: 'failed', error: refused }, false, 'failed', 'detail=overloaded'],
  [
    'a client that left',
    { kind: 'failed', error: failure('client-closed-request', { text: 'nobody' }) },
    false,
    'client-closed-request',
    'detail=client-closed-request',
  ],
])('%s has its outcome and its Cache-Status', (_, phase, collapsed, outcome, cacheStatus) => {
  const ended: Ended = { ...phase, collapsed, at: NOW };
  expect([outcomeOf(ended), renderCacheStatus(cacheStatusOf(ended))]).toEqual([outcome, `toncache; ${cacheStatus}`]);
});
