import type { Redis } from 'ioredis';

/** After a connection that lasted this long, in milliseconds, reconnect delays begin again with the shortest. */
const GOOD_AFTER_MS = 2000;

/**
 * Lets ioredis reset its count of attempts only after a connection has lasted, not as soon as it is ready. Otherwise,
 * with a Redis that answers garbage, each connection would break at its first command and be made anew every 10 ms for
 * ever.
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
  // ioredis has reset its count by now, so restore it.
  client.on('ready', () => {
    inside.retryAttempts = attempts;
    lasting = setTimeout(() => {
      attempts = 0;
      inside.retryAttempts = 0;
    }, GOOD_AFTER_MS);
    lasting.unref();
  });
}
