import { onTestFinished, vi } from 'vitest';
import { Clock } from '../../src/clock.ts';

export const HOUR_MS = 3_600_000;

/** Simulated time with three clocks: the wall clock, the monotonic clock, and the server's. */
class World {
  elapsedMs = 0;
  /** The time for which the machine was suspended, which the monotonic clock does not count. */
  suspendedMs = 0;
  wallAheadMs = 1_800_000_000_000;
  serverAheadMs = 1_800_000_000_000;
  /** The travel times of the next requests, and (`backMs`) of their answers. */
  thereMs = 1;
  backMs = 1;
  jumps = 0;
  readonly clock: Clock;

  constructor() {
    this.clock = new Clock({
      wall: () => this.wallNow,
      monotonic: () => this.elapsedMs - this.suspendedMs,
    });
    this.clock.onJump(() => this.jumps++);
  }

  /** Requests the server's time and gives it to the clock. */
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

  /** Advances the time and the fake timers. */
  async advance(ms: number): Promise<void> {
    this.elapsedMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  suspend(ms: number): void {
    this.elapsedMs += ms;
    this.suspendedMs += ms;
  }
}

/** A world whose clock is closed when the test finishes. */
export function startWorld(): World {
  const world = new World();
  onTestFinished(() => world.clock.close());
  return world;
}
