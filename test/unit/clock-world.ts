import { onTestFinished, vi } from 'vitest';
import { Clock } from '../../src/clock.ts';

export const HOUR_MS = 3_600_000;

/** Time as it passes, and three clocks on it: the wall, the monotonic one, and the server's. */
class World {
  elapsedMs = 0;
  /** What the monotonic clock does not count. */
  suspendedMs = 0;
  wallAheadMs = 1_800_000_000_000;
  serverAheadMs = 1_800_000_000_000;
  /** How long the next questions and their answers take. */
  thereMs = 1;
  backMs = 1;
  jumps = 0;
  readonly clock: Clock;

  constructor() {
    this.clock = new Clock({
      wall: () => this.wallNow,
      monotonic: () => this.elapsedMs - this.suspendedMs,
      onJump: () => this.jumps++,
    });
  }

  /** Asks the server for its time. */
  askServer(): void {
    const sentAt = this.elapsedMs - this.suspendedMs;
    this.elapsedMs += this.thereMs;
    const now = this.serverNow;
    this.elapsedMs += this.backMs;
    this.clock.learn(now, sentAt);
  }

  get wallNow(): number {
    return this.wallAheadMs + this.elapsedMs;
  }

  get serverNow(): number {
    return this.serverAheadMs + this.elapsedMs;
  }

  get errorMs(): number {
    return Math.abs(this.clock.now() - this.serverNow);
  }

  /** Lets time go on, timers included. */
  async advance(ms: number): Promise<void> {
    this.elapsedMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  suspend(ms: number): void {
    this.elapsedMs += ms;
    this.suspendedMs += ms;
  }
}

/** A world whose clock is closed with the test. */
export function startWorld(): World {
  const world = new World();
  onTestFinished(() => world.clock.close());
  return world;
}
