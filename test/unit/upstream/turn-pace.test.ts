import { describe, expect, test } from 'vitest';
import { TurnPace } from '../../../src/upstream/turn-pace.ts';

const STEP_MS = 100;

/** A window that is spent after so many turns for this instance. */
const spentAfter = (turns: number, windowEndsAt: number) => ({ at: Array(turns).fill(0), windowEndsAt });

describe('the time between two turns', () => {
  test('is a step of the rate, as long as there are turns for whoever asks', () => {
    const pace = new TurnPace(STEP_MS);
    for (let window = 1; window < 5; window++) pace.learn(3, { at: [0, 0, 0], windowEndsAt: window * 1000 }, 0);
    expect(pace.ms).toBe(STEP_MS);
  });

  test('is what a spent window gave in the time in which somebody waited', () => {
    const pace = new TurnPace(STEP_MS);
    pace.learn(3, spentAfter(2, 1000), 600);
    expect(pace.ms).toBe(200);
  });

  test('is never shorter than a step', () => {
    const pace = new TurnPace(STEP_MS);
    pace.learn(20, spentAfter(15, 1000), 0);
    expect(pace.ms).toBe(STEP_MS);
  });

  test('is of several windows, of which the latest counts most', () => {
    const pace = new TurnPace(STEP_MS);
    pace.learn(5, spentAfter(1, 1000), 0);
    expect(pace.ms).toBe(1000);
    pace.learn(5, spentAfter(4, 2000), 0);
    expect(pace.ms).toBeGreaterThan(250);
    expect(pace.ms).toBeLessThan((1000 + 1000) / (1 + 4));
    for (let window = 3; window < 12; window++) pace.learn(5, spentAfter(4, window * 1000), 0);
    expect(pace.ms).toBeCloseTo(250, 0);
  });

  test('is a step again after a window with turns for all, or a time without need', () => {
    const pace = new TurnPace(STEP_MS);
    pace.learn(5, spentAfter(1, 1000), 0);
    pace.learn(2, { at: [0, 0], windowEndsAt: 2000 }, 0);
    expect(pace.ms).toBe(1000);
    pace.learn(1, { at: [0], windowEndsAt: 3000 }, 0);
    expect(pace.ms).toBe(STEP_MS);
    pace.learn(5, spentAfter(1, 4000), 0);
    pace.learn(1, { at: [0], windowEndsAt: 60_000 }, 59_000);
    expect(pace.ms).toBe(STEP_MS);
  });
});
