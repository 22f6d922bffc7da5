import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Subscription } from '../../../src/stream/subscription.ts';
import { Ticks } from '../../../src/stream/ticks.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a name that was left out of a later message counts from the acknowledgement of the next one that holds it', () => {
  let wanted = ['a', 'b'];
  const ticks = new Ticks();
  const subscription = new Subscription({
    wanted: () => wanted,
    send: () => {},
    ticks,
    onLimit: () => {},
    report: () => {},
  });
  const subscribe = (names: string[]) => {
    wanted = names;
    subscription.changed();
    vi.advanceTimersByTime(50);
  };
  const acknowledge = (id: string) => {
    subscription.take({ kind: 'reply', id, status: 'subscribed' });
    return { a: subscription.sinceOf('a'), b: subscription.sinceOf('b') };
  };
  subscribe(['a', 'b']);
  subscribe(['a']);
  subscribe(['a', 'b']);
  // The server has not read the second message yet, which ends b for a while.
  expect(acknowledge('1')).toEqual({ a: 1, b: undefined });
  expect(acknowledge('2')).toEqual({ a: 1, b: undefined });
  expect(acknowledge('3')).toEqual({ a: 1, b: 3 });
});
