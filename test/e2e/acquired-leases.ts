import { Redis } from 'ioredis';
import { inject } from 'vitest';

/** The keys whose lease was acquired. */
export interface AcquiredLeases extends AsyncDisposable {
  /** The number of keys, those whose lease has ended included. */
  readonly count: number;
}

/**
 * Watches which leases the instances of a network acquire from now on, on the Redis of all tests. Redis reports each
 * command (MONITOR), because a lease can begin and end between two looks.
 */
export async function watchLeases(network: string): Promise<AcquiredLeases> {
  const monitor = await new Redis(inject('redisUrl'), { lazyConnect: true }).monitor();
  const acquired = new Set<string>();
  monitor.on('monitor', (_time: string, [command = '', key = '', value = '']: string[]) => {
    const isLease = command.toLowerCase() === 'set' && key.includes(network) && key.endsWith(':lease');
    if (isLease && !value.startsWith('failed ')) acquired.add(key);
  });
  return {
    get count() {
      return acquired.size;
    },
    [Symbol.asyncDispose]: async () => monitor.disconnect(),
  };
}
