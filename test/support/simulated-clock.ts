import { setImmediate as turn } from 'node:timers';

interface Timer {
  readonly at: number;
  readonly run: () => void;
  unref(): Timer;
  ref(): Timer;
}

/** The functions that are replaced while time is simulated. */
const REAL = { setTimeout, clearTimeout, setImmediate };
const realNow = performance.now;

let now = 0;
let delayMs: () => number = () => 0;
const timers: Timer[] = [];
let immediates: (() => void)[] = [];

/**
 * From here on `setTimeout`, `setImmediate` and `performance.now` are simulated: time passes only in {@link passTime}.
 * It also works outside of vitest, and for a delayed event loop: each of its turns begins `delay()` milliseconds after
 * its first timer is due, and runs all that are due by then.
 */
export function simulateClock(delay = () => 0): void {
  now = 0;
  timers.length = 0;
  immediates = [];
  delayMs = delay;
  performance.now = () => now;
  const start = (run: () => void, ms = 1): Timer => {
    const timer: Timer = { at: now + Math.max(1, ms), run, unref: () => timer, ref: () => timer };
    let [low, high] = [0, timers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((timers[middle]?.at ?? 0) > timer.at) high = middle;
      else low = middle + 1;
    }
    timers.splice(low, 0, timer);
    return timer;
  };
  const stop = (timer: Timer | undefined) => {
    const index = timer === undefined ? -1 : timers.indexOf(timer);
    if (index >= 0) timers.splice(index, 1);
  };
  Object.assign(globalThis, {
    setTimeout: start,
    clearTimeout: stop,
    setImmediate: (run: () => void) => void immediates.push(run),
  });
}

/** Time is real again. */
export function restoreClock(): void {
  performance.now = realNow;
  Object.assign(globalThis, REAL);
}

/** Lets simulated time pass, with all consequences. */
export async function passTime(ms: number): Promise<void> {
  const until = now + ms;
  await settle();
  for (let first = timers[0]; first !== undefined && first.at <= until; first = timers[0]) {
    now = Math.max(now, first.at) + delayMs();
    for (let due = timers[0]; due !== undefined && due.at <= now; due = timers[0]) {
      timers.shift();
      due.run();
      await settle();
    }
    const due = immediates;
    immediates = [];
    for (const run of due) run();
    await settle();
  }
  now = Math.max(now, until);
}

/** Lets all promises settle that can. */
function settle(): Promise<void> {
  return new Promise((resolve) => void turn(resolve));
}
