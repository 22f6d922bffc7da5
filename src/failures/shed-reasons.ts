import { FAILURES } from './codes.ts';

/** One reason for which a load is not sent to the indexer. */
interface Shed {
  readonly clientReads: string;
  /** As for a failure. */
  readonly operatorReads: string;
}

const { overloaded, 'too-many-requests': limited } = FAILURES;

/** A reason for which operators only read that there are too many requests. */
const crowded = (what: string): Shed => ({
  clientReads: `${overloaded.clientReads.usual}: ${what}`,
  operatorReads: overloaded.operatorReads,
});

/**
 * The reasons for which a load is shed, as the metric and the log name them. The client gets a stale copy or the failure
 * `overloaded`; for `client-limit`, `too-many-requests`.
 */
export const SHED = {
  /** The circuit breaker of the operation is open. */
  'breaker-open': {
    clientReads: 'circuit breaker open: the indexer is failing',
    operatorReads: '{indexer} fails, and its circuit breaker is open',
  },
  /** The client's time ended before a request could be sent. */
  deadline: crowded('the deadline passed before the request could be sent'),
  /** The wait in the backlog would be longer than the client's patience. */
  'expected-wait': crowded('the wait for the indexer would be too long'),
  /** The indexer answered 429 for this key, or this passed-through path. */
  'key-paused': {
    clientReads: 'the indexer asked for a pause for this request (429)',
    operatorReads: '{indexer} answers 429 for one key or path',
  },
  memory: {
    clientReads: `${overloaded.clientReads.usual}: it is nearly out of memory`,
    operatorReads: 'this process has hardly any memory left',
  },
  /** No connection to the indexer can be opened: descriptors, local ports or memory of this machine are used up. */
  sockets: {
    clientReads: `${overloaded.clientReads.usual}: it can open no more connections`,
    operatorReads: 'this process can open no more connections',
  },
  /** No slot is free, or others wait, and a refresh does not wait. */
  'no-free-slot': crowded('no slot is free for a refresh'),
  /** Each indexer that may get the request follows another chain. */
  'other-chain': {
    clientReads: 'the indexer follows another chain than NETWORK of this proxy',
    operatorReads: '{indexer} follows another chain than NETWORK (global_id)',
  },
  /** The same words as for the request that met the 429. */
  paused: {
    clientReads: FAILURES['upstream-rate-limited'].clientReads.usual,
    operatorReads: '{indexer} asked for a pause (429)',
  },
  /** The backlog is full. */
  'queue-full': crowded('too many requests wait for the indexer'),
  /** The maximum number of clients' streams is reached. */
  'streams-full': {
    clientReads: `${overloaded.clientReads.usual}: all places for streams are taken (passThrough.maxStreams)`,
    operatorReads: 'all places for streams of clients are taken (passThrough.maxStreams)',
  },
  /** The maximum number of passed-through answers is on the way to clients. */
  'transfers-full': {
    clientReads: `${overloaded.clientReads.usual}: too many passed-through answers are being sent`,
    operatorReads: 'too many passed-through answers are being sent',
  },
  /** The wait for a reservation of the rate would be, or became, longer than the client's patience. */
  'rate-limit': {
    clientReads: 'the rate limit of the indexer is used up',
    operatorReads: 'the rate limit of {indexer} is used up',
  },
  /** The request waited in the backlog until the client's patience was over. */
  'waited-too-long': crowded('the indexer became slower and the wait too long'),
  /** The client has used up its own limit of misses. */
  'client-limit': { clientReads: limited.clientReads.usual, operatorReads: limited.operatorReads },
} as const satisfies Record<string, Shed>;

/** Why a load was not sent to the indexer. */
export type ShedReason = keyof typeof SHED;

/** True if a text, such as the label of a metric, is a reason. */
export function isShedReason(text: string): text is ShedReason {
  return Object.hasOwn(SHED, text);
}

/** All reasons, in the order in which the metric lists them. */
export const SHED_REASONS = Object.keys(SHED) as readonly ShedReason[];
