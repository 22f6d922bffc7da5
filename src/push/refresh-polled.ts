import type { Watch } from './watches.ts';

export interface RefreshPolledDependencies {
  /** Loads a key again; never rejects. */
  readonly refresh: (call: Watch['call'], key: string) => Promise<void>;
  readonly monotonic: () => number;
}

/** The most refreshes of one second, of all keys together. Beyond it the next client of a key waits for a load. */
const MOST_IN_A_SECOND = 50;

/**
 * Refreshes keys after events, so that the next client finds a fresh answer: at most once for each time that a client
 * polled, and at most 50 keys a second. One busy account can be polled under a hundred keys, and has many events.
 */
export function refreshPolledWith({ refresh, monotonic }: RefreshPolledDependencies): (watch: Watch) => void {
  let second = 0;
  let left = MOST_IN_A_SECOND;
  return (watch) => {
    const now = Math.floor(monotonic() / 1000);
    if (now !== second) [second, left] = [now, MOST_IN_A_SECOND];
    if (!watch.isRefreshDue || left === 0) return;
    left--;
    watch.isRefreshDue = false;
    void refresh(watch.call, watch.key);
  };
}
