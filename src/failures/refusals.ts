import { FAILURES } from './codes.ts';
import type { ExplainedBy } from './explained-by.ts';

/** One reason for which a load is not sent to the indexer. */
interface RefusalWords {
  readonly clientReads: string;
  /** As for a failure. */
  readonly operatorReads: string;
  /** The condition that explains it to operators. */
  readonly condition: ExplainedBy;
  /** The status that the client gets, if it is not that of the failure. */
  readonly status?: number;
}

const { overloaded, 'too-many-requests': limited } = FAILURES;

/** A rate is used up. The clients of toncenter, which answers 429, slow down for this status alone. */
const A_RATE = { status: FAILURES['upstream-rate-limited'].status };

/** A reason for which operators only read that there are too many requests. */
const crowded = (what: string): RefusalWords => ({
  clientReads: `${overloaded.clientReads.usual}: ${what}`,
  operatorReads: overloaded.operatorReads,
  condition: overloaded.condition,
});

/**
 * The reasons for which a load is refused, as the metric and the log name them. The client gets a stale copy or the failure
 * `overloaded`; for `client-limit`, `too-many-requests`.
 */
export const REFUSED = {
  /** The circuit breaker of the operation is open. */
  'breaker-open': {
    clientReads: 'circuit breaker open: the indexer is failing',
    operatorReads: '{indexer} fails, and its circuit breaker is open',
    condition: 'breaker-open',
  },
  /** The client's time ended before a request could be sent. */
  deadline: crowded('the deadline passed before the request could be sent'),
  /** The wait in the backlog would be longer than the client's patience. */
  'expected-wait': crowded('the wait for the indexer would be too long'),
  /** The indexer answered 429 for this key, or this passed-through path. */
  'key-paused': {
    clientReads: 'the indexer asked for a pause for this request (429)',
    operatorReads: '{indexer} answers 429 for one key or path',
    condition: 'key-paused',
    ...A_RATE,
  },
  memory: {
    clientReads: `${overloaded.clientReads.usual}: it is nearly out of memory`,
    operatorReads: 'this process has hardly any memory left',
    condition: 'process-memory',
  },
  /** No connection to the indexer can be opened: descriptors, local ports or memory of this machine are used up. */
  sockets: {
    clientReads: `${overloaded.clientReads.usual}: it can open no more connections`,
    operatorReads: 'this process can open no more connections',
    condition: 'no-sockets',
  },
  /** No slot is free, or others wait, and a refresh does not wait. */
  'no-free-slot': crowded('no slot is free for a refresh'),
  /** Each indexer that may get the request follows another chain. */
  'other-chain': {
    clientReads: 'the indexer follows another chain than NETWORK of this proxy',
    operatorReads: '{indexer} follows another chain than NETWORK',
    condition: 'other-chain',
  },
  /** The same words as for the request that met the 429. */
  paused: {
    clientReads: FAILURES['upstream-rate-limited'].clientReads.usual,
    operatorReads: '{indexer} is rate limited (429)',
    condition: 'paused',
    ...A_RATE,
  },
  'queue-full': crowded('too many requests wait for the indexer'),
  /** The maximum number of clients' streams is reached. */
  'streams-full': {
    clientReads: `${overloaded.clientReads.usual}: all places for streams are taken (passThrough.maxStreams)`,
    operatorReads: 'all places for streams of clients are taken (passThrough.maxStreams)',
    condition: 'overloaded',
  },
  /** The maximum number of passed-through answers is on the way to clients. */
  'transfers-full': {
    clientReads: `${overloaded.clientReads.usual}: too many passed-through responses are being sent`,
    operatorReads: 'too many passed-through responses are being sent',
    condition: 'overloaded',
  },
  /** The wait for a reservation of the rate would be, or became, longer than the client's patience. */
  'rate-limit': {
    clientReads: 'the rate limit of the indexer is used up',
    operatorReads: 'the rate limit of {indexer} is used up',
    condition: 'overloaded',
    ...A_RATE,
  },
  /** The request waited in the backlog until the client's patience was over. */
  'waited-too-long': crowded('the indexer became slower and the wait too long'),
  /** The client has used up its own limit of misses. */
  'client-limit': {
    clientReads: limited.clientReads.usual,
    operatorReads: limited.operatorReads,
    condition: limited.condition,
  },
} as const satisfies Record<string, RefusalWords>;

/** Why a load was not sent to the indexer. */
export type RefusedReason = keyof typeof REFUSED;

/** All reasons, in the order in which the metric lists them. */
export const REFUSED_REASONS = Object.keys(REFUSED) as readonly RefusedReason[];
