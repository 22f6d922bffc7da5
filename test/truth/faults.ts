import { setTimeout as delay } from 'node:timers/promises';
import { adminOf } from '../support/redis-cluster.ts';
import { RedisSentinels } from '../support/redis-sentinels.ts';
import { RedisServer } from '../support/redis-server.ts';
import { FAULTS_OF_ACCOUNTS } from './account-faults.ts';
import { type Fault, LASTS_MS } from './fault.ts';
import { REST_MS } from './fault-cycle.ts';
import { ALWAYS_LAGS_MS, BLOCK_MS, FALL_LASTS_MS, type World } from './world.ts';

/** The lags of the database, in blocks, one after the other. */
const DATABASE_LAGS = [1, 5, 12, 3, 8];

const LAG_MS = 3000;

const VANISH_EVERY_MS = 150;

/** An answer takes this long. */
const DELAY_MS = 300;
/** More bytes than any answer has: each answer is sent in one piece. */
const WHOLE_BYTES = 2 ** 30;

/** Longer than the slowest clients pause. */
const LONG_LAG_MS = 6000;

/** The clock of Redis is set back by this much. Longer than any client pauses, so that keys are requested again meanwhile. */
const CLOCK_BACK_S = 8;

/** Longer than the circuit breaker stays open after a trial that failed during a fault. */
const BREAKER_MS = 8000;

export const FAULTS: readonly Fault[] = [
  {
    name: 'redis-killed',
    excuses: { cutOff: true },
    settlesMs: 2000,
    begin: async (world) => {
      await single(world).kill();
      return async () => {
        await single(world).restart();
        world.lost.ofRedis(Date.now());
      };
    },
  },
  {
    name: 'redis-paused',
    excuses: { cutOff: true },
    settlesMs: 2000,
    begin: async (world) => {
      await single(world).pause();
      return () => single(world).resume();
    },
  },
  {
    name: 'redis-stutters',
    excuses: { cutOff: true, lagMs: LAG_MS },
    settlesMs: 2 * LAG_MS,
    begin: async (world) => {
      const [, replica] = world.indexer.replicas;
      replica?.lag(LAG_MS);
      const ending = new AbortController();
      const stuttering = stutter(single(world), ending.signal);
      return async () => {
        ending.abort();
        replica?.lag(0);
        await stuttering;
      };
    },
  },
  {
    name: 'redis-failover',
    redis: 'sentinels',
    excuses: { cutOff: true },
    settlesMs: 2000,
    begin: async ({ redis }) => {
      if (!(redis instanceof RedisSentinels)) throw new Error('this fault needs sentinels');
      const primary = await primaryOf(redis);
      await primary.kill();
      return () => primary.restart();
    },
  },
  {
    name: 'redis-clock-back',
    redis: 'with a clock to set',
    lastsMs: CLOCK_BACK_S * 1000 + 2000,
    settlesMs: 2000,
    begin: async ({ redisClock }) => {
      await redisClock?.setAhead(-CLOCK_BACK_S);
      return () => redisClock?.setAhead(0);
    },
  },
  {
    name: 'instance-killed',
    begin: async (world) => {
      const place = world.instances.length - 1;
      world.instances[place]?.kill();
      return () => world.replace(place);
    },
  },
  {
    name: 'indexer-slow',
    excuses: { refusals: true, overlaps: true },
    settlesMs: BREAKER_MS,
    begin: async ({ indexer: { faults } }) => {
      const { latencyMs, jitterMs } = faults;
      Object.assign(faults, { latencyMs: 1500, jitterMs: 1500 });
      return () => void Object.assign(faults, { latencyMs, jitterMs });
    },
  },
  {
    name: 'indexer-down',
    excuses: { refusals: true },
    settlesMs: BREAKER_MS,
    begin: async ({ indexer }) => {
      const down = indexer.faults.inject({ kind: 'reset' });
      return () => down.remove();
    },
  },
  {
    name: 'head-hangs',
    excuses: { hangs: 'masterchainInfo' },
    settlesMs: BREAKER_MS,
    begin: async ({ indexer: { faults } }) => {
      const hanging = faults.inject({ kind: 'hang' }, { operation: 'masterchainInfo' });
      return () => hanging.remove();
    },
  },
  {
    name: 'replica-lag',
    excuses: { lagMs: LAG_MS },
    settlesMs: 2 * LAG_MS,
    begin: async ({ indexer }) => {
      const [, replica] = indexer.replicas;
      replica?.lag(LAG_MS);
      return () => replica?.lag(0);
    },
  },
  {
    name: 'replica-lag-by-connection',
    excuses: { lagMs: LONG_LAG_MS },
    lastsMs: 2 * LONG_LAG_MS,
    settlesMs: LONG_LAG_MS,
    begin: async ({ indexer }) => {
      const [, replica] = indexer.replicas;
      indexer.faults.balances = 'connections';
      replica?.lag(LONG_LAG_MS);
      return () => {
        replica?.lag(0);
        indexer.faults.balances = 'requests';
      };
    },
  },
  {
    name: 'database-lag',
    twoIndexers: true,
    excuses: { databaseLagMs: Math.max(...DATABASE_LAGS) * BLOCK_MS },
    settlesMs: 2 * LAG_MS,
    begin: async ({ indexers: [, second] }) => {
      const [blocks = 1] = DATABASE_LAGS;
      DATABASE_LAGS.push(DATABASE_LAGS.shift() ?? blocks);
      second?.replicas[0].lagDatabase(blocks * BLOCK_MS);
      return () => second?.replicas[0].lagDatabase(ALWAYS_LAGS_MS);
    },
  },
  {
    name: 'clock-step',
    begin: async ({ instances, lost }) => {
      for (const instance of instances) instance.stepClock();
      return () => lost.ofMemory(Date.now());
    },
  },
  {
    name: 'actions-reclassified',
    begin: async (world) => {
      world.afflict((chain, { id }, at) => chain.reclassify(id, at));
      return () => {};
    },
  },
  {
    name: 'rounds-out-of-order',
    begin: async (world) => {
      world.indexOutOfOrder();
      return () => {};
    },
  },
  {
    name: 'external-accepted-twice',
    begin: async (world) => {
      world.afflict((chain, { externalHash }, at) => chain.acceptAgain(externalHash, at));
      return () => {};
    },
  },
  {
    name: 'database-falls-back',
    lastsMs: FALL_LASTS_MS,
    begin: async (world) => {
      world.fallBack();
      return () => {};
    },
  },
  {
    name: 'answers-late',
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
    begin: async (world) => {
      const vanishing = setInterval(() => {
        const pending = world.indexer.chain.pendingTraces();
        const trace = pending[Math.floor(pending.length / 2)];
        if (trace !== undefined) world.vanish(trace.externalHash);
      }, VANISH_EVERY_MS);
      return () => clearInterval(vanishing);
    },
  },
  ...FAULTS_OF_ACCOUNTS,
];

/** A fault by its name; two at once as `NAME+NAME`. Undefined for unknown names. */
export function faultNamed(name: string): Fault | undefined {
  const parts = name.split('+').map((part) => FAULTS.find((fault) => fault.name === part));
  return parts.every((part) => part !== undefined) ? parts.reduceRight(together) : undefined;
}

function together(second: Fault, first: Fault): Fault {
  return {
    ...second,
    ...first,
    name: `${first.name}+${second.name}`,
    excuses: { ...first.excuses, ...second.excuses },
    lastsMs: Math.max(first.lastsMs ?? LASTS_MS, second.lastsMs ?? LASTS_MS),
    settlesMs: Math.max(first.settlesMs ?? 0, second.settlesMs ?? 0),
    restMs: Math.max(first.restMs ?? REST_MS, second.restMs ?? REST_MS),
    begin: async (world) => {
      const ends = [await first.begin(world), await second.begin(world)];
      return async () => {
        for (const end of ends.reverse()) await end();
      };
    },
  };
}

/**
 * Pauses of 60 to 200 ms: longer than a look-up may take. Commands that were sent in the pause are processed after it.
 */
async function stutter(redis: RedisServer, ending: AbortSignal): Promise<void> {
  for (let pauseMs = 60; !ending.aborted; pauseMs = pauseMs < 200 ? pauseMs + 35 : 60) {
    await redis.pause();
    await delay(pauseMs);
    await redis.resume();
    await delay(100);
  }
}

/** Each failover swaps the roles of the two servers. */
async function primaryOf({ primary, replica }: RedisSentinels): Promise<RedisServer> {
  const admin = adminOf(primary.port);
  const role = await admin.info('replication');
  admin.disconnect();
  return role.includes('role:master') ? primary : replica;
}

function single({ redis }: World): RedisServer {
  if (redis instanceof RedisServer) return redis;
  throw new Error('this fault needs a Redis of its own');
}
