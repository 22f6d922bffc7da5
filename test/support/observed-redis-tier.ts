import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { Entry } from '../../src/cache/entry.ts';
import { redisKeyFor } from '../../src/cache/redis-keys.ts';
import {
  type RedisRead,
  RedisTier,
  type RedisTierDependencies,
  type RedisTierEvent,
} from '../../src/cache/redis-tier.ts';
import { systemNames } from '../../src/names/names.ts';
import { type ConnectedRedis, connectRedis } from '../../src/redis/connect.ts';
import type { RedisTransition } from '../../src/redis/transitions.ts';
import { asTheyAre } from './entry.ts';
import { GUARD_MS } from './patience.ts';

/** A `RedisTier` on its own connection, with all events of both. */
export class ObservedRedisTier implements AsyncDisposable {
  readonly tier: RedisTier;
  readonly events: RedisTierEvent[] = [];
  readonly connectionTransitions: RedisTransition[] = [];
  readonly #connection: ConnectedRedis;

  /** Connects to `url`, with or without a server there; does not wait. */
  constructor(url: string, { toStore = asTheyAre, redisKey, ...options }: Partial<RedisTierDependencies> = {}) {
    this.#connection = connectRedis({
      names: systemNames(),
      connectTimeoutMs: 2000,
      commandTimeoutMs: 500,
      url,
      onTransition: (transition) => void this.connectionTransitions.push(transition),
    });
    this.tier = new RedisTier({
      connection: this.#connection,
      redisKey: redisKey ?? redisKeyFor(`test:${randomUUID()}:`),
      toStore,
      provableMs: () => 0,
      now: Date.now,
      monotonic: () => performance.now(),
      report: (event) => this.events.push(event),
      budgetMs: 50,
      breaker: { faults: 3, openMs: 100 },
      maxPendingWriteBytes: 64 * 1024 * 1024,
      ...options,
    });
  }

  /** The number of operations with this outcome. */
  count(name: 'redis-read' | 'redis-write', outcome: string): number {
    return this.events.filter((event) => event.name === name && event.outcome === outcome).length;
  }

  /** The reported changes of an operation, in their order. */
  availability(operation: 'read' | 'write'): boolean[] {
    return this.events.flatMap((event) =>
      event.name === 'redis-available' && event.operation === operation ? [event.available] : [],
    );
  }

  /** Looks `key` up repeatedly until the tier answers `state`: this is how a tier finds out that Redis is back. */
  untilRead(key: string, state: RedisRead['state']): Promise<RedisRead> {
    return vi.waitFor(
      async () => {
        const read = await this.tier.get(key);
        expect(read.state).toBe(state);
        return read;
      },
      { timeout: GUARD_MS, interval: 10 },
    );
  }

  /** Writes `entry` repeatedly until Redis has taken it. */
  async untilStored(entry: Entry): Promise<void> {
    const storedBefore = this.count('redis-write', 'stored');
    await vi.waitFor(
      async () => {
        await this.tier.set(entry);
        expect(this.count('redis-write', 'stored')).toBeGreaterThan(storedBefore);
      },
      { timeout: GUARD_MS, interval: 10 },
    );
  }

  /** Until the connection has reported exactly these changes, in this order. */
  async untilConnection(...states: RedisTransition['state'][]): Promise<void> {
    await vi.waitFor(() => expect(this.connectionTransitions.map(({ state }) => state)).toEqual(states), {
      timeout: GUARD_MS,
      interval: 10,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tier.close();
    await this.#connection.close();
  }
}
