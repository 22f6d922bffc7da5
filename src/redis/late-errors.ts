import type { Redis } from 'ioredis';

/** What ioredis makes inside of a client, and gives no other access to. */
interface Inside {
  readonly stream?: NodeJS.EventEmitter | null;
  readonly connector: { connectToSentinel?: (...args: unknown[]) => Redis };
  duplicate: (...args: never[]) => Redis;
}

/**
 * Keeps a socket's second error from ending the process. ioredis listens to the first alone, and a TLS socket whose
 * certificate was refused may hear the alert of the server after that (seen once in ten refusals). Those that the client
 * makes by itself are kept too: to ask for slots, and to ask sentinels.
 */
export function surviveLateErrors(client: Redis): Redis {
  // Its types hide what it makes inside, and its options have no place for a listener there.
  const inside = client as unknown as Inside;
  client.on('error', () => inside.stream?.on('error', () => {}));
  const { duplicate, connector } = inside;
  inside.duplicate = (...args) => surviveLateErrors(duplicate.apply(client, args));
  const { connectToSentinel } = connector;
  if (connectToSentinel) {
    connector.connectToSentinel = (...args) => surviveLateErrors(connectToSentinel.apply(connector, args));
  }
  return client;
}
