import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HOUR_MS, startWorld } from './clock-world.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('with Redis', () => {
  test.each([
    ['back by 5 ms', -5, 0],
    ['back by 6 ms', -6, 1],
    ['forward by 6 ms', 6, 0],
  ])('a small step of the time is a jump only if it goes back by more than purges allow for: %s', (_, byMs, jumps) => {
    const world = startWorld();
    world.askServer();
    world.serverAheadMs += byMs;
    world.askServer();
    world.clock.close();
    expect(world.jumps).toBe(jumps);
  });

  test("the error of the server's time is at most half the round trip, however far the clocks are apart", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -1e10, max: 1e10 }),
        fc.integer({ min: 0, max: 500 }),
        fc.integer({ min: 0, max: 500 }),
        async (aheadMs, thereMs, backMs) => {
          const world = Object.assign(startWorld(), { thereMs, backMs });
          world.serverAheadMs += aheadMs;
          world.askServer();
          world.clock.close();
          expect(world.errorMs).toBeLessThanOrEqual((thereMs + backMs) / 2 + 0.01);
          expect(world.clock.aheadOfWallMs).toBeCloseTo(world.clock.now() - world.wallNow, 3);
        },
      ),
    );
  });

  test('a slow sample never increases the error, wherever in its round trip Redis reads the clock', async () => {
    const ms = fc.double({ min: 0, max: 2000, noNaN: true });
    await fc.assert(
      fc.asyncProperty(fc.double({ min: -2, max: 2, noNaN: true }), ms, ms, async (knownErrorMs, thereMs, backMs) => {
        fc.pre(thereMs + backMs > 5);
        const world = Object.assign(startWorld(), { thereMs: 2 + knownErrorMs, backMs: 2 - knownErrorMs });
        world.askServer();
        expect(world.errorMs).toBeCloseTo(Math.abs(knownErrorMs), 2);
        Object.assign(world, { thereMs, backMs });
        world.askServer();
        world.clock.close();
        expect(world.errorMs).toBeLessThanOrEqual(Math.abs(knownErrorMs) + 0.01);
      }),
    );
  });

  test.each([-HOUR_MS, HOUR_MS])(
    'setting the wall clock by %i ms does not move the time, but counts as a jump',
    async (byMs) => {
      const world = startWorld();
      world.askServer();
      const { jumps } = world;
      world.wallAheadMs += byMs;
      await world.advance(1000);
      expect(world.errorMs).toBeLessThan(1.01);
      // A suspended machine looks the same, so this counts as a jump, which clears memory.
      expect(world.jumps - jumps).toBe(1);
    },
  );

  test('after a suspension, the next answer of the server corrects the time and reports a jump', () => {
    const world = startWorld();
    world.askServer();
    world.suspend(HOUR_MS);
    const { jumps } = world;
    world.askServer();
    expect(world.errorMs).toBeLessThan(1.01);
    expect(world.jumps - jumps).toBe(1);
  });
});
