const FIRST_DELAY_MS = 10;
const LONGEST_DELAY_MS = 1000;

/** How long to wait before the `attempt`th reconnect, from 1 up: doubling from 10 ms to 1 s, with as much again by chance. */
export function reconnectDelayMs(attempt: number): number {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  return delayMs + Math.random() * delayMs;
}
