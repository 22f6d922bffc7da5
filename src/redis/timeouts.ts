import type { Ms } from '../time-units.ts';

/** A server in the same region answers in milliseconds. The start waits for Redis for this time. */
export const CONNECT_TIMEOUT_MS: Ms = 1000;

/**
 * After this a connection is replaced. No request waits for it, only for `redis.budget`; a server that pauses for less
 * keeps its connections.
 */
export const COMMAND_TIMEOUT_MS: Ms = 1000;
