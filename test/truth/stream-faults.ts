import type { Fault } from './fault.ts';
import { EMPTY_WATCHED_MS } from './windows.ts';

/** A little longer than the longest life of an empty answer that no event ends. */
const EMPTY_MS = EMPTY_WATCHED_MS + 500;

/** The share of lost events, and the size of the flood: this many events at once for each subscribed account. */
const LOST_SHARE = 0.7;
const FLOOD = 5;
const FLOOD_EVERY_MS = 200;

const VANISH_EVERY_MS = 150;

/** An answer takes this long. Events that come in this time announce what it lacks. */
const DELAY_MS = 300;
/** More bytes than any answer has: each answer is sent in one piece. */
const WHOLE_BYTES = 2 ** 30;

/** Faults in which the stream is broken or sends nothing. */
export const FAULTS_OF_STREAM: readonly Fault[] = [
  {
    name: 'stream-cut',
    streams: true,
    begin: async ({ indexer: { streaming } }) => {
      streaming.faults.refusesConnections = true;
      streaming.cut();
      return () => {
        streaming.faults.refusesConnections = false;
      };
    },
  },
  {
    name: 'stream-stalled',
    streams: true,
    excuses: { losesEvents: true },
    settlesMs: EMPTY_MS,
    begin: async ({ indexer: { streaming } }) => {
      streaming.faults.stalled = true;
      return () => {
        streaming.faults.stalled = false;
      };
    },
  },
  {
    name: 'stream-flooded',
    streams: true,
    excuses: { losesEvents: true },
    settlesMs: EMPTY_MS,
    begin: async ({ indexer: { streaming } }) => {
      streaming.faults.lostShare = LOST_SHARE;
      const flood = setInterval(() => {
        for (const name of streaming.subscribed) if (name.includes(':')) streaming.flood(name, FLOOD);
      }, FLOOD_EVERY_MS);
      return () => {
        clearInterval(flood);
        streaming.faults.lostShare = 0;
      };
    },
  },
  {
    name: 'stream-duplicated',
    streams: true,
    begin: async ({ indexer: { streaming } }) => {
      streaming.faults.duplicatedShare = 1;
      return () => {
        streaming.faults.duplicatedShare = 0;
      };
    },
  },
  {
    name: 'answers-late',
    streams: true,
    excuses: { lagMs: DELAY_MS },
    settlesMs: 2 * DELAY_MS,
    begin: async ({ indexer: { faults } }) => {
      const slow = { kind: 'slow', chunkBytes: WHOLE_BYTES, pauseMs: DELAY_MS } as const;
      const slowness = faults.inject(slow, { operation: 'pendingTraces' });
      return () => slowness.remove();
    },
  },
  {
    name: 'traces-vanish',
    streams: true,
    begin: async (world) => {
      const vanishing = setInterval(() => {
        const pending = world.indexer.chain.pendingTraces();
        const trace = pending[Math.floor(pending.length / 2)];
        if (trace !== undefined) world.vanish(trace.externalHash);
      }, VANISH_EVERY_MS);
      return () => clearInterval(vanishing);
    },
  },
];
