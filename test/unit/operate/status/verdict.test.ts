import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Samples } from '../../../../src/operate/samples.ts';
import { verdictOf } from '../../../../src/operate/status/verdict.ts';
import { sample } from './read-sample.ts';

const NOTHING = new Samples([], 0);
const UNREACHABLE = { result: 'upstream-unreachable', reason: 'connect ECONNREFUSED 10.0.0.7:8081' };
/** The last failures of the indexer `gone` and of Redis, and the networks that exceeded their limits. */
const FAILURES = {
  of: (indexer: string) => (indexer === 'gone' ? UNREACHABLE : undefined),
  ofRedis: 'OOM command',
  limited: ['10.0.7.0/24'],
};
const ANSWERED = 'requests_total outcome=hit-memory 90';

const INCIDENTS = readFileSync(new URL('../../../../docs/incidents.md', import.meta.url), 'utf8');
const HEADINGS = new Set(
  [...INCIDENTS.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-')),
);

describe('the verdict', () => {
  it.each<[string, string[], string, unknown]>([
    ['no requests came', [], 'serving', ''],
    [
      'all requests are answered and the indexer is healthy',
      [ANSWERED, 'upstream_requests_total result=200 90'],
      'serving',
      '',
    ],
    [
      'answers are stale only because they are being refreshed',
      ['requests_total outcome=stale 50', 'upstream_requests_total result=200 50'],
      'serving',
      '',
    ],
    [
      'the indexer answers 500',
      [
        'requests_total outcome=hit-memory 10',
        'requests_total outcome=failed 90',
        'request_failures_total code=upstream-error 90',
        'upstream_requests_total result=500 90',
        'upstream_requests_total result=404 95',
      ],
      'refusing 90 %',
      'the indexer answers 500',
    ],
    [
      'the indexer cannot be reached',
      ['requests_total outcome=failed 5', 'request_failures_total code=upstream-unreachable 5'],
      'refusing 100 %',
      'the indexer cannot be reached',
    ],
    [
      'the indexer refuses our API key',
      [ANSWERED, 'requests_total outcome=failed 10', 'request_failures_total code=upstream-unauthorized 10'],
      'refusing 10 %',
      'the indexer refuses our API key',
    ],
    [
      'more requests arrive than the indexer can answer',
      [
        ANSWERED,
        'requests_total outcome=failed 10',
        'request_failures_total code=overloaded 10',
        'loads_shed_total reason=expected-wait 10',
      ],
      'refusing 10 %',
      'there are more requests than the indexer can answer',
    ],
    [
      'clients exceed their limit',
      [ANSWERED, 'requests_refused_total code=too-many-requests 80'],
      'all others are answered',
      '10.0.7.0/24 exceeds its limit',
    ],
    [
      'the requests and misses above client limits outnumber all others',
      [
        ANSWERED,
        'requests_refused_total code=too-many-requests 61',
        'requests_total outcome=failed 30',
        'request_failures_total code=too-many-requests 30',
      ],
      'refusing 50 %',
      '10.0.7.0/24 exceeds its limit: if that is your proxy, set TRUSTED_PROXIES',
    ],
    [
      'the indexer times out while a client exceeds its limit',
      [
        ANSWERED,
        'requests_refused_total code=too-many-requests 90',
        'requests_total outcome=failed 10',
        'request_failures_total code=upstream-timeout 10',
      ],
      'refusing 10 %',
      'the indexer does not answer in time',
    ],
    [
      'the indexer reports mistakes in the requests of clients',
      [ANSWERED, 'upstream_requests_total result=422 90', 'upstream_requests_total result=400 90'],
      'serving',
      '',
    ],
    ['only two requests fail', [ANSWERED, 'requests_total outcome=failed 2'], 'serving', ''],
    [
      'stale copies are served while the indexer times out',
      ['requests_total outcome=stale 50', 'upstream_requests_total result=upstream-timeout 50'],
      'stale answers',
      'the indexer does not answer in time',
    ],
    [
      'a circuit breaker is open and all requests are hits',
      [ANSWERED, 'circuit_breaker_open upstream=a operation=pendingTraces 1'],
      'serving what is cached',
      'the indexer fails, and its circuit breaker is open',
    ],
    [
      'one of two indexers has an open circuit breaker',
      [ANSWERED, 'circuit_breaker_open upstream=a operation=x 1', 'circuit_breaker_open upstream=b operation=x 0'],
      'serving',
      '',
    ],
    [
      'no indexer serves an operation',
      [
        ANSWERED,
        'requests_total outcome=invalid 90',
        'upstream_operation_not_served upstream=a operation=pendingTraces 1',
      ],
      'serving without pendingTraces',
      expect.stringMatching(/^the indexer does not serve pendingTraces: .+; clients get 501$/),
    ],
    [
      'one of two indexers does not serve an operation',
      [
        ANSWERED,
        'upstream_operation_not_served upstream=a operation=x 1',
        'upstream_operation_not_served upstream=b operation=x 0',
      ],
      'serving',
      '',
    ],
    [
      'one of two indexers answers with redirects and is unhealthy',
      [
        ANSWERED,
        'upstream_requests_total upstream=a operation=x result=302 5',
        'upstream_requests_total upstream=b operation=x result=200 10',
        'upstream_unhealthy upstream=a 1',
        'upstream_unhealthy upstream=b 0',
      ],
      'serving without a',
      'a answers with a redirect; clients get the answers of the others',
    ],
    [
      'both of two indexers answer with redirects',
      [
        'requests_total outcome=failed 5',
        'request_failures_total code=upstream-redirect 5',
        'upstream_unhealthy upstream=a 1',
        'upstream_unhealthy upstream=b 1',
      ],
      'refusing 100 %',
      'the indexer answers with a redirect',
    ],
    [
      'redirected requests are answered by other indexers',
      [
        ANSWERED,
        'upstream_requests_total operation=x result=302 5',
        'upstream_requests_total operation=x result=200 5',
      ],
      'all are answered',
      'the indexer answers with a redirect',
    ],
    [
      'the indexer refuses API keys of clients in passed-through requests',
      [ANSWERED, 'upstream_requests_total operation=passthrough result=401 90'],
      'serving',
      '',
    ],
    [
      'connections to the indexer break',
      ['requests_total outcome=failed 5', 'request_failures_total code=upstream-reset 5'],
      'refusing 100 %',
      'the indexer closes the connection before it answers',
    ],
    [
      'the indexer asked for a pause',
      [ANSWERED, 'upstream_paused 1'],
      'serving what is cached',
      'the indexer asked for a pause (429)',
    ],
    [
      'the indexer is slow',
      [
        'requests_total outcome=stale 50',
        'upstream_requests_total result=200 50',
        'upstream_request_duration_seconds_bucket le=2 10',
        'upstream_request_duration_seconds_bucket le=4 50',
        'upstream_request_duration_seconds_bucket le=+Inf 50',
      ],
      'stale answers',
      'the indexer is slow (p99 4.0 s)',
    ],
    [
      'the indexer lacks a block that it named',
      [ANSWERED, 'upstream_head_check_failed upstream=a reason=lacks-block 1'],
      'serving what is cached',
      'the indexer lacks a block that it named, so its 404s may be wrong',
    ],
    [
      'the indexer follows another chain',
      [ANSWERED, 'upstream_head_check_failed upstream=a reason=other-chain 1'],
      'serving what is cached',
      'the indexer follows another chain than NETWORK (global_id)',
    ],
    [
      'one of two indexers lacks a block that it named',
      [
        ANSWERED,
        'upstream_head_check_failed upstream=a reason=lacks-block 1',
        'upstream_head_check_failed upstream=b reason=lacks-block 0',
      ],
      'serving',
      '',
    ],
    [
      'Redis is unavailable',
      [ANSWERED, 'redis_available call=read 0'],
      'serving from memory alone',
      'Redis is away (OOM command)',
    ],
    [
      'an open circuit breaker sheds all misses, so that only the last failure shows the cause',
      [
        'requests_total operation=x outcome=failed 90',
        'requests_total operation=y outcome=hit-memory 10',
        'request_failures_total code=overloaded 90',
        'loads_shed_total reason=breaker-open 90',
        'circuit_breaker_open upstream=gone operation=x 1',
      ],
      'refusing 90 % (x)',
      'the indexer cannot be reached (connect ECONNREFUSED 10.0.0.7:8081); its circuit breaker is open',
    ],
    [
      'the indexer cannot be reached and 94 % of the requests are hits',
      [
        'requests_total operation=x outcome=hit-memory 94',
        'requests_total operation=x outcome=failed 6',
        'request_failures_total code=upstream-unreachable 6',
        'circuit_breaker_open upstream=gone operation=x 0',
      ],
      'refusing 6 %',
      'the indexer cannot be reached (connect ECONNREFUSED 10.0.0.7:8081)',
    ],
    [
      'a backup answers all misses',
      [
        'requests_total outcome=miss 60',
        'requests_total outcome=stale 40',
        'upstream_backup upstream=gone 0',
        'upstream_backup upstream=b 1',
        'upstream_requests_total upstream=b result=200 60',
        'circuit_breaker_open upstream=gone operation=x 1',
        'circuit_breaker_open upstream=b operation=x 0',
      ],
      'served by the backup b',
      'gone cannot be reached (connect ECONNREFUSED 10.0.0.7:8081)',
    ],
    [
      'the indexer answers again while the circuit breaker of an operation without requests is still open',
      [
        'requests_total operation=x outcome=miss 10',
        'upstream_requests_total upstream=a result=200 10',
        'circuit_breaker_open upstream=a operation=x 0',
        'circuit_breaker_open upstream=a operation=y 1',
      ],
      'serving',
      '',
    ],
    [
      'a backup answers after the other indexer failed once',
      [
        'requests_total outcome=miss 10',
        'upstream_backup upstream=b 1',
        'upstream_requests_total upstream=a result=500 1',
        'upstream_requests_total upstream=b result=200 1',
      ],
      'served by the backup b',
      'a answers 500',
    ],
    [
      'a backup answers some requests although no other indexer fails',
      [
        'requests_total outcome=miss 60',
        'upstream_backup upstream=b 1',
        'upstream_requests_total upstream=b result=200 6',
      ],
      'served by the backup b',
      'all slots of the others are in use',
    ],
    [
      'clients wait for a slow indexer, and one answer is stale',
      [
        'requests_total outcome=miss 90',
        'requests_total outcome=stale 1',
        'upstream_requests_total result=200 90',
        'upstream_request_duration_seconds_bucket le=1 10',
        'upstream_request_duration_seconds_bucket le=2.5 90',
        'upstream_request_duration_seconds_bucket le=+Inf 90',
        'request_duration_seconds_bucket le=1 10',
        'request_duration_seconds_bucket le=2.5 90',
        'request_duration_seconds_bucket le=+Inf 90',
      ],
      'slow answers',
      'the indexer is slow (p99 2.5 s)',
    ],
    [
      'two of 40 requests were slow',
      [
        'requests_total outcome=miss 40',
        'upstream_requests_total result=200 40',
        'upstream_request_duration_seconds_bucket le=1 38',
        'upstream_request_duration_seconds_bucket le=5 40',
        'upstream_request_duration_seconds_bucket le=+Inf 40',
        'request_duration_seconds_bucket le=1 38',
        'request_duration_seconds_bucket le=5 40',
        'request_duration_seconds_bucket le=+Inf 40',
      ],
      'serving',
      '',
    ],
    [
      'one of two indexers times out now and then',
      [
        ANSWERED,
        'requests_total outcome=miss 20',
        'upstream_requests_total upstream=a result=upstream-timeout 5',
        'upstream_requests_total upstream=b result=200 15',
        'upstream_unhealthy upstream=a 0',
        'upstream_unhealthy upstream=b 0',
      ],
      'all are answered',
      'a does not answer in time',
    ],
    [
      '10 % of the requests to indexers are slow, and other indexers answer clients in time',
      [
        'requests_total outcome=miss 1000',
        'requests_total outcome=stale 1',
        'upstream_requests_total result=200 1000',
        'upstream_request_duration_seconds_bucket le=1 900',
        'upstream_request_duration_seconds_bucket le=5 1000',
        'upstream_request_duration_seconds_bucket le=+Inf 1000',
        'request_duration_seconds_bucket le=0.2 1000',
        'request_duration_seconds_bucket le=5 1000',
        'request_duration_seconds_bucket le=+Inf 1000',
      ],
      'serving',
      '',
    ],
    [
      'one of two indexers does not answer head polls',
      [ANSWERED, 'upstream_unresponsive upstream=a 1', 'upstream_unresponsive upstream=b 0'],
      'all are answered',
      'a is unresponsive: it does not answer head polls, so its lag is unknown',
    ],
    [
      'the history of one indexer begins 1001 blocks after that of another',
      [ANSWERED, 'upstream_first_seqno upstream=a 5', 'upstream_first_seqno upstream=b 1006'],
      'all are answered',
      "b's history begins at block 1006: give all indexers the same history",
    ],
    [
      'the histories of two indexers are shorter than that of a third',
      [
        ANSWERED,
        'upstream_first_seqno upstream=a 5000',
        'upstream_first_seqno upstream=b 1',
        'upstream_first_seqno upstream=c 7000',
      ],
      'all are answered',
      "a's history begins at block 5000: give all indexers the same history; c's history begins at block 7000: give all indexers the same history",
    ],
    [
      'the histories of two indexers differ by 1000 blocks, and that of a backup by more',
      [
        ANSWERED,
        'upstream_first_seqno upstream=a 5',
        'upstream_first_seqno upstream=b 1005',
        'upstream_first_seqno upstream=c 9000',
        'upstream_backup upstream=c 1',
      ],
      'serving',
      '',
    ],
    [
      'the head of the indexer has not changed for 121 s, although that of a backup changes',
      [
        ANSWERED,
        'upstream_head_unchanged_seconds upstream=a 121',
        'upstream_head_unchanged_seconds upstream=b 0',
        'upstream_backup upstream=b 1',
      ],
      'outdated answers',
      'the newest block has been the same for 2 min',
    ],
    [
      'the head of one of two indexers stands still',
      [ANSWERED, 'upstream_head_unchanged_seconds upstream=a 300', 'upstream_head_unchanged_seconds upstream=b 0'],
      'serving',
      '',
    ],
    [
      'the newest block is 41 h old and moves, although that of a backup is young',
      [
        ANSWERED,
        'upstream_head_unchanged_seconds upstream=a 0',
        'upstream_head_age_seconds upstream=a 147600',
        'upstream_head_age_seconds upstream=b 2',
        'upstream_backup upstream=b 1',
      ],
      'outdated answers',
      'the newest block is 41 h old',
    ],
    [
      'the newest block is 10 min old, or that of one of two indexers is older',
      [ANSWERED, 'upstream_head_age_seconds upstream=a 600', 'upstream_head_age_seconds upstream=b 601'],
      'serving',
      '',
    ],
    [
      'the clock of Redis is 2 min behind',
      [ANSWERED, 'redis_clock_offset_seconds -120'],
      'all are answered',
      'the clock of Redis is 2 min behind that of this machine',
    ],
    [
      'the chain is ahead of our clock',
      [ANSWERED, 'upstream_head_age_seconds upstream=a -6', 'upstream_head_age_seconds upstream=b -7'],
      'all are answered',
      'the chain is 6 s ahead of our clock',
    ],
    [
      'the chain is 2 h behind our clock, as it is while an indexer catches up',
      [ANSWERED, 'upstream_head_age_seconds upstream=a 7200', 'redis_clock_offset_seconds 4.9'],
      'outdated answers',
      'the newest block is 2 h old',
    ],
    [
      'one client has most of the backlog while others wait',
      [ANSWERED, 'top_client_queued_ratio 0.83', 'queued_clients 5', 'upstream_requests_queued 200'],
      'others wait because of one client',
      'one client has 83 % of the backlog',
    ],
    [
      'requests are shed, one client sends most of them, and the backlog is short',
      [
        ANSWERED,
        'requests_total outcome=failed 10',
        'request_failures_total code=overloaded 10',
        'loads_shed_total reason=expected-wait 10',
        'top_client_requests_ratio 0.95',
        'top_client_queued_ratio 1',
        'queued_clients 1',
        'upstream_requests_queued 5',
      ],
      'refusing 10 %',
      'one client sends 95 % of the requests that memory does not answer',
    ],
    [
      'one client sends most requests, and requests are shed because of a pause',
      [
        ANSWERED,
        'requests_total outcome=failed 10',
        'request_failures_total code=overloaded 10',
        'loads_shed_total reason=paused 10',
        'top_client_requests_ratio 0.95',
      ],
      'refusing 10 %',
      'the indexer asked for a pause (429)',
    ],
    [
      'the indexer answers 429 for one key, and other requests are answered',
      [
        ANSWERED,
        'requests_total outcome=failed 10',
        'request_failures_total code=overloaded 6',
        'request_failures_total code=upstream-rate-limited 4',
        'loads_shed_total reason=key-paused 6',
        'top_client_requests_ratio 0.95',
      ],
      'refusing 10 %',
      'the indexer answers 429 for one key or path',
    ],
    [
      'one client sends most requests, and all are answered',
      [ANSWERED, 'top_client_requests_ratio 0.95'],
      'serving',
      '',
    ],
    [
      'memory evicts fresh entries, and fewer than half of the answers are hits',
      [
        'requests_total outcome=hit-memory 49',
        'requests_total outcome=miss 51',
        'memory_tier_fresh_evictions_total 30',
      ],
      'all are answered',
      'memory is full: it evicts 3.0 fresh answers a second, and hits are 49 %',
    ],
    [
      'memory evicts fresh entries, and half of the answers are hits, some of them in Redis',
      [
        'requests_total outcome=hit-memory 20',
        'requests_total outcome=hit-redis 30',
        'requests_total outcome=miss 50',
        'memory_tier_fresh_evictions_total 80',
      ],
      'serving',
      '',
    ],
    [
      'memory evicts fresh entries, and fewer than half of the answers are hits, some of them proven',
      [
        'requests_total outcome=hit-memory 10',
        'requests_total outcome=hit-proven 30',
        'requests_total outcome=miss 60',
        'memory_tier_fresh_evictions_total 40',
      ],
      'all are answered',
      'memory is full: it evicts 4.0 fresh answers a second, and hits are 40 %',
    ],
    [
      'memory evicts no more than one fresh entry for two misses',
      [
        'requests_total outcome=hit-memory 40',
        'requests_total outcome=miss 60',
        'memory_tier_fresh_evictions_total 30',
      ],
      'serving',
      '',
    ],
    [
      'memory evicts fresh entries, and at most one request a second arrives',
      ['requests_total outcome=miss 10', 'memory_tier_fresh_evictions_total 10'],
      'serving',
      '',
    ],
    [
      'the only waiting client has the whole backlog',
      [ANSWERED, 'top_client_queued_ratio 1', 'queued_clients 1', 'upstream_requests_queued 200'],
      'serving',
      '',
    ],
    [
      'the indexer is slow for one of two operations',
      [
        'requests_total outcome=miss 100',
        'request_duration_seconds_bucket le=0.1 50',
        'request_duration_seconds_bucket le=5 100',
        'upstream_requests_total operation=a result=200 50',
        'upstream_requests_total operation=b result=200 50',
        'upstream_request_duration_seconds_count operation=a 50',
        'upstream_request_duration_seconds_bucket operation=a le=0.1 50',
        'upstream_request_duration_seconds_bucket operation=a le=5 50',
        'upstream_request_duration_seconds_count operation=b 50',
        'upstream_request_duration_seconds_bucket operation=b le=0.1 0',
        'upstream_request_duration_seconds_bucket operation=b le=5 50',
      ],
      'slow answers (b)',
      expect.stringContaining('the indexer is slow'),
    ],
    [
      'all requests for one operation fail',
      [
        'requests_total operation=x outcome=miss 60',
        'requests_total operation=y outcome=failed 20',
        'request_failures_total code=upstream-error 20',
        'upstream_requests_total result=500 20',
      ],
      'refusing 25 % (y)',
      'the indexer answers 500',
    ],
    [
      'few requests fail, all of them for one operation by chance',
      [
        'requests_total operation=x outcome=miss 60',
        'requests_total operation=y outcome=miss 57',
        'requests_total operation=y outcome=failed 3',
        'request_failures_total code=upstream-error 3',
        'upstream_requests_total result=500 3',
      ],
      'refusing 3 %',
      'the indexer answers 500',
    ],
    [
      'the head fell back',
      [ANSWERED, 'upstream_head_rollback_blocks upstream=a 1250'],
      'outdated answers',
      'the newest block fell back by 1,250 blocks',
    ],
    [
      'the heads of both indexers fell back',
      [ANSWERED, 'upstream_head_rollback_blocks upstream=a 1250', 'upstream_head_rollback_blocks upstream=b 1240'],
      'outdated answers',
      'the newest block fell back by 1,240 blocks',
    ],
    [
      'the head of one of two indexers fell back',
      [ANSWERED, 'upstream_head_rollback_blocks upstream=a 1250', 'upstream_head_rollback_blocks upstream=b 0'],
      'serving',
      '',
    ],
  ])('has the expected summary, cause and runbook when %s', (_, lines, summary, cause) => {
    const verdict = verdictOf(NOTHING, new Samples(lines.map(sample), 10_000), FAILURES);
    expect(verdict).toMatchObject({ summary, cause });
    expect(HEADINGS.has(verdict.runbook)).toBe(cause !== '');
  });

  it('names the worst cause, and lists the others', () => {
    const lines = ['requests_total outcome=failed 10', 'redis_available 0', 'redis_clock_offset_seconds 9'];
    const { summary, also } = verdictOf(NOTHING, new Samples(lines.map(sample), 10_000), FAILURES);
    expect([summary, ...also.map((each) => [each.summary, each.cause])]).toEqual([
      'refusing 100 %',
      ['serving from memory alone', 'Redis is away (OOM command)'],
      ['', 'the clock of Redis is 9 s ahead of that of this machine'],
    ]);
  });

  it.each([
    [['requests_total outcome=failed 10'], 'refusing 100 %'],
    [[ANSWERED, 'upstream_unhealthy upstream=a 1', 'upstream_unhealthy upstream=b 0'], 'serving without a'],
  ])('does not also report a failing indexer as unresponsive: %j', (lines, summary) => {
    const samples = new Samples([...lines, 'upstream_unresponsive upstream=a 1'].map(sample), 10_000);
    expect(verdictOf(NOTHING, samples, FAILURES)).toMatchObject({ summary, also: [] });
  });

  it('explains the use of a backup by a problem of another indexer at the beginning of the window', () => {
    const counted = [
      'requests_total outcome=miss 10',
      'upstream_backup upstream=b 1',
      'upstream_backup upstream=gone 0',
    ];
    const before = ['upstream_unhealthy upstream=gone 1', 'upstream_requests_total upstream=b result=200 10'];
    const after = ['upstream_unhealthy upstream=gone 0', 'upstream_requests_total upstream=b result=200 20'];
    const samples = [before, after].map(
      (lines, place) => new Samples([...counted, ...lines].map(sample), 10_000 * place),
    );
    expect(verdictOf(samples[0] as Samples, samples[1] as Samples, FAILURES)).toMatchObject({
      summary: 'served by the backup b',
      cause: 'gone cannot be reached (connect ECONNREFUSED 10.0.0.7:8081)',
    });
  });
});
