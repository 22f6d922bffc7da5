import type { Redis } from 'ioredis';

/** A connection that lasted this long was a good one, in milliseconds: the next reconnect delay is the shortest again. */
export const GOOD_AFTER_MS = 2000;

/**
 * Lets ioredis reset its count of attempts only after a connection has lasted, not as soon as it is ready. Before a Redis
 * that answers garbage each connection breaks at its first command, and would be made anew every 10 ms for ever.
 */
export function rememberAttempts(client: Redis): void {
  // The cast: `retryAttempts` is private in the types of ioredis, and there is no public way to it.
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
