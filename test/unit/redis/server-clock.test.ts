import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServerClock } from '../../../src/redis/server-clock.ts';

/** Time as it passes, and three clocks on it: the wall, the monotonic one, and the server's. */
class World {
  elapsedMs = 0;
  wallAheadMs = 1_800_000_000_000;
  serverAheadMs = 1_800_000_000_000;
  /** How long the next questions and their answers take. */
  thereMs = 1;
  backMs = 1;
  isAway = false;
  asked = 0;
  jumps = 0;

  readonly clock = new ServerClock({
    key: 'clock',
    now: () => this.wallAheadMs + this.elapsedMs,
    monotonic: () => this.elapsedMs,
    onJump: () => this.jumps++,
    runScript: async (script, keys) => {
      expect([script, keys]).toEqual([`return redis.call('TIME')`, ['clock']]);
      this.asked++;
      if (this.isAway) throw new Error('not connected to Redis');
      this.elapsedMs += this.thereMs;
      const now = this.serverNow;
      this.elapsedMs += this.backMs;
      return [Buffer.from(String(Math.floor(now / 1000))), Buffer.from(String(Math.round((now % 1000) * 1000)))];
    },
  });

  get serverNow(): number {
    return this.serverAheadMs + this.elapsedMs;
  }

  get errorMs(): number {
    return Math.abs(this.clock.now() - this.serverNow);
  }
}

let world: World;

beforeEach(() => {
  vi.useFakeTimers();
  world = new World();
});

afterEach(() => {
  world.clock.close();
  vi.useRealTimers();
});

test("before Redis has told its time it is this machine's", async () => {
  world.serverAheadMs += 5000;
  world.isAway = true;
  await world.clock.refresh();
  expect(world.clock.now()).toBe(world.wallAheadMs + world.elapsedMs);
  expect(world.clock.offsetMs).toBe(0);
});

test('a time that is another one by more than a second is told, once', async () => {
  world.serverAheadMs += 1500;
  await world.clock.refresh();
  expect(world.jumps).toBe(1);
  world.serverAheadMs += 900;
  await world.clock.refresh();
  expect(world.jumps).toBe(1);
  world.serverAheadMs -= 2400;
  await world.clock.refresh();
  expect(world.jumps).toBe(2);
});

test("the server's time is known to half of the round trip, however far the clocks are apart", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: -1e10, max: 1e10 }),
      fc.integer({ min: 0, max: 500 }),
      fc.integer({ min: 0, max: 500 }),
      async (aheadMs, thereMs, backMs) => {
        const one = Object.assign(new World(), { thereMs, backMs });
        one.serverAheadMs += aheadMs;
        await one.clock.refresh();
        one.clock.close();
        expect(one.errorMs).toBeLessThanOrEqual((thereMs + backMs) / 2 + 0.01);
        expect(one.clock.offsetMs).toBeCloseTo(one.clock.now() - (one.wallAheadMs + one.elapsedMs), 3);
      },
    ),
  );
});

test('a slow sample does not spoil a better one, and a quick one replaces it', async () => {
  world.serverAheadMs += 3000;
  await world.clock.refresh();
  const { offsetMs } = world.clock;
  Object.assign(world, { thereMs: 90, backMs: 10 });
  await world.clock.refresh();
  expect(world.clock.offsetMs).toBe(offsetMs);
  Object.assign(world, { thereMs: 4, backMs: 0 });
  await world.clock.refresh();
  expect(world.clock.offsetMs).not.toBe(offsetMs);
  expect(world.errorMs).toBeLessThan(2.01);
});

test('a slow sample is believed where it proves what was known wrong: a clock that was set', async () => {
  await world.clock.refresh();
  world.wallAheadMs -= 60_000;
  Object.assign(world, { thereMs: 60, backMs: 40 });
  await world.clock.refresh();
  expect(world.errorMs).toBeLessThan(50.01);
});

test('while Redis fails, what was last known holds', async () => {
  world.serverAheadMs += 3000;
  await world.clock.refresh();
  const { offsetMs } = world.clock;
  world.isAway = true;
  await world.clock.refresh();
  world.elapsedMs += 60_000;
  expect(world.clock.offsetMs).toBe(offsetMs);
});

test('it asks every 10 s until it is closed', async () => {
  await vi.advanceTimersByTimeAsync(9999);
  expect(world.asked).toBe(0);
  await vi.advanceTimersByTimeAsync(20_001);
  expect(world.asked).toBe(3);
  world.clock.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(world.asked).toBe(3);
});

test.each([[[]], [['1']], [['x', 'y']], [null], ['1']])('a reply that is no time is none: %j', async (reply) => {
  const clock = new ServerClock({
    key: 'k',
    now: () => 7,
    monotonic: () => 0,
    onJump: () => {},
    runScript: async () => reply,
  });
  await clock.refresh();
  clock.close();
  expect(clock.now()).toBe(7);
});
