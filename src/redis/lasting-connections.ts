import type { Redis } from 'ioredis';

/** A connection that lasted so long was a good one. */
export const GOOD_AFTER_MS = 2000;

/**
 * Keeps ioredis from forgetting its attempts the moment a connection is ready, until it has lasted. One that breaks at
 * each command, as before a Redis that answers garbage, would be made anew every 10 ms for ever.
 */
export function rememberAttempts(client: Redis): void {
  const inside = client as unknown as { retryAttempts: number };
  let attempts = 0;
  let lasting: NodeJS.Timeout | undefined;
  client.on('reconnecting', () => {
    attempts = inside.retryAttempts;
  });
  client.on('close', () => clearTimeout(lasting));
  // ioredis has set them to 0 by now.
  client.on('ready', () => {
    inside.retryAttempts = attempts;
    lasting = setTimeout(() => {
      attempts = 0;
      inside.retryAttempts = 0;
    }, GOOD_AFTER_MS);
    lasting.unref();
  });
}
