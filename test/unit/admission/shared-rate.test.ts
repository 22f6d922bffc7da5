import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SharedRate } from '../../../src/admission/rate-limit.ts';

const OPEN_MS = 1000;
const FAILURES = 3;

type RunScript = (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

let runScript: ReturnType<typeof vi.fn<RunScript>>;
let sharedChanges: boolean[];
let rate: SharedRate;

beforeEach(() => {
  vi.useFakeTimers();
  runScript = vi.fn<RunScript>();
  sharedChanges = [];
  rate = new SharedRate({
    runScript,
    now: () => performance.now(),
    onShared: (isShared) => sharedChanges.push(isShared),
    key: 'toncache:rate:mainnet',
    failuresToOpen: FAILURES,
    openMs: OPEN_MS,
  });
});

afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left).toBe(0);
});

describe('the answer of Redis', () => {
  test.each([
    [[1, 0], { state: 'reserved', waitMs: 0 }],
    [[1, 12_345], { state: 'reserved', waitMs: 12.345 }],
    [[0, 2_000_000], { state: 'too-long', waitMs: 2000 }],
    [['1', '500'], { state: 'reserved', waitMs: 0.5 }],
  ])('%j is read in microseconds', async (reply, expected) => {
    runScript.mockResolvedValue(reply);
    expect(await rate.reserve(0.5, 1500)).toEqual(expected);
    const [[, keys, args] = []] = runScript.mock.calls;
    expect([keys, args]).toEqual([['toncache:rate:mainnet'], ['0.5', '1500']]);
    expect(sharedChanges).toEqual([]);
  });

  test.each([undefined, null, 'OK', [], [1], [1, 'soon'], {}])('%j is a failure', async (reply) => {
    runScript.mockResolvedValue(reply);
    expect(await rate.reserve(1, 1500)).toBeUndefined();
    expect(sharedChanges).toEqual([]);
    for (let n = 1; n < FAILURES; n++) await rate.reserve(1, 1500);
    expect(sharedChanges).toEqual([false]);
  });
});
