import type { FollowerState } from '../../src/answer/block-proof.ts';
import type { RequestOutcome } from '../../src/answer/phase.ts';
import type { AppEvent } from '../../src/event-hub.ts';
import type { StreamEnd, StreamSides } from '../../src/http/streaming/stream.ts';
import type { AnswerClass } from '../../src/ton/lifetime-table.ts';
import type { Selector } from '../../src/ton/purge-selector.ts';

type EventNamed<N extends AppEvent['name']> = Extract<AppEvent, { readonly name: N }>;

/** The compiler finds a value that is missing or too much. */
function valuesOf<T extends string>(meanings: Readonly<Record<T, string>>): Readonly<Record<string, string>> {
  return meanings;
}

/** The values of the labels that are not names, statuses or codes, with their meanings: by metric and label. */
export const LABEL_VALUES: readonly (readonly [metric: string, label: string, Readonly<Record<string, string>>])[] = [
  [
    'toncache_requests_total',
    'outcome',
    valuesOf<RequestOutcome>({
      'hit-memory': 'a fresh response from memory',
      'hit-redis': 'a fresh response from Redis',
      'hit-proven': 'a response from memory or Redis that blocks prove to be current',
      stale: 'a stale response',
      collapsed: 'a response that toncache was already loading for another request',
      miss: 'a response that this request loaded from the indexer',
      invalid: 'a client error, or an operation or parameter that no indexer serves',
      failed: 'any other error, including a refusal by toncache',
    }),
  ],
  [
    'toncache_entries_stored_total',
    'class',
    valuesOf<AnswerClass>({
      final: 'a response that never changes',
      'final-page': 'a page whose rows never change, but which may later contain other rows',
      growing: 'a response to which the indexer may add rows',
      live: 'a response that may change with the next block',
      absent: 'a 404 or an empty list',
    }),
  ],
  [
    'toncache_redis_calls_total',
    'outcome',
    valuesOf<EventNamed<'redis-read'>['outcome'] | EventNamed<'redis-write'>['outcome']>({
      found: 'read: found an entry',
      absent: 'read: found no entry',
      corrupt: 'read: found bytes that are not an entry',
      stored: 'written',
      older: 'not written: Redis has a newer response',
      regressed: 'not written: Redis has a more complete response',
      taken: 'not written: another load holds the lease',
      dropped: 'not written: too many writes are pending, or the body exceeds 32 MiB',
      expired: 'not written: the entry is too old',
      failed: 'Redis was not connected, did not reply in time, or returned an error',
      'rejected-by-breaker': 'not sent: the circuit breaker is open',
    }),
  ],
  [
    'toncache_passthrough_collapsible_requests_total',
    'result',
    valuesOf<EventNamed<'rest-answered'>['result']>({
      hit: 'answered from memory: the response to an identical request arrived in the last 400 ms',
      collapsed: 'answered with the response to an identical request that was already in progress',
      miss: 'sent to the indexer',
      passed: 'passed through: the response cannot be shared',
    }),
  ],
  [
    'toncache_block_follower_state',
    'state',
    valuesOf<FollowerState>({
      alive: 'all new blocks have been read: responses can be proven',
      behind: 'some blocks have not been read yet: no responses are proven',
      idle: 'off: reading blocks would cost more than it saves',
      resting: 'off for 20 s to 10 minutes, because too few responses were proven',
    }),
  ],
  [
    'toncache_client_streams',
    'kind',
    valuesOf<StreamSides['kind']>({
      websocket: 'a WebSocket',
      sse: 'server-sent events',
      answer: 'an ordinary response of the Streaming API; only in `toncache_client_streams_ended_total`',
    }),
  ],
  [
    'toncache_client_streams_ended_total',
    'reason',
    valuesOf<StreamEnd>({
      'client-closed-request': 'the client closed the stream',
      'upstream-ended': 'the server closed the stream',
      idle: 'an event stream carried no bytes for 60 s, or a silent WebSocket made room for another stream',
      slow: 'the client read less than 16 KiB in 10 s while more bytes waited, or too many bytes waited in all streams together, and this stream had the most',
      'shutting-down': 'this instance shut down',
    }),
  ],
  [
    'toncache_purges_total',
    'selector',
    valuesOf<Selector>({
      seqno: 'a masterchain block',
      hash: 'a transaction, message, trace or block',
      account: 'an account',
      all: 'everything',
    }),
  ],
];
