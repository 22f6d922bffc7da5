import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HOUR_MS, startWorld } from './clock-world.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('without Redis', () => {
  test('the time is the wall clock at the start, continued by the monotonic clock', async () => {
    const world = startWorld();
    expect(world.clock.now()).toBe(world.wallNow);
    await world.advance(12_345);
    expect(world.clock.now()).toBe(world.wallNow);
    expect(world.jumps).toBe(0);
  });

  test.each([
    ['set back by an hour', -HOUR_MS],
    ['set forward by an hour', HOUR_MS],
    ['set back by 1001 ms', -1001],
  ])('a wall clock that is %s moves the time only together with a reported jump, within a second', async (_, byMs) => {
    const world = startWorld();
    await world.advance(1500);
    const before = world.clock.now();
    world.wallAheadMs += byMs;
    await world.advance(499);
    expect(world.clock.now()).toBe(before + 499);
    expect(world.jumps).toBe(0);
    await world.advance(1);
    expect(world.clock.now()).toBe(world.wallNow);
    expect(world.jumps).toBe(1);
    await world.advance(60_000);
    expect(world.jumps).toBe(1);
  });

  test('the time never goes back or stands still without a reported jump, for any changes of the wall clock', async () => {
    const change = fc.record({
      setByMs: fc.integer({ min: -1e10, max: 1e10 }),
      afterMs: fc.integer({ min: 1, max: 3000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 20 }), async (changes) => {
        const world = startWorld();
        for (const { setByMs, afterMs } of changes) {
          world.wallAheadMs += setByMs;
          const [before, jumps] = [world.clock.now(), world.jumps];
          await world.advance(afterMs);
          if (world.jumps === jumps) expect(world.clock.now()).toBeCloseTo(before + afterMs, 3);
        }
        await world.advance(1000);
        expect(Math.abs(world.clock.aheadOfWallMs)).toBeLessThanOrEqual(1000);
        world.clock.close();
      }),
    );
  });
});

describe('a clock is shared with the other clocks of the server', () => {
  test('for 2 s after a sample with a round trip of at most 250 ms, and not for 2 s after a jump', async () => {
    const world = startWorld();
    const isShared: boolean[] = [];
    const look = () => isShared.push(world.clock.isShared);
    look();
    world.askServer();
    look();
    await world.advance(1999);
    look();
    await world.advance(1);
    look();
    [world.thereMs, world.backMs] = [125, 126];
    world.askServer();
    look();
    world.backMs = 125;
    world.askServer();
    look();
    expect(isShared).toEqual([false, true, true, false, false, true]);
    [world.thereMs, world.backMs] = [1, 1];
    world.serverAheadMs -= 100;
    for (let ms = 0; ms < 2000; ms += 500) {
      world.askServer();
      expect(world.clock.isShared).toBe(false);
      await world.advance(498);
    }
    world.askServer();
    await world.advance(10);
    expect(world.clock.isShared).toBe(true);
  });
});
