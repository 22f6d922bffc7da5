import { inject } from 'vitest';
import { monitorRedis } from '../support/redis-monitor.ts';

/** The keys whose lease was acquired. */
export interface AcquiredLeases extends AsyncDisposable {
  /** The number of keys, including those whose lease has ended. */
  readonly count: number;
}

/**
 * Watches the leases that the instances of a network acquire from now on, on the Redis of all tests. Redis reports each
 * command (MONITOR), because a lease can begin and end between two looks.
 */
export async function watchLeases(network: string): Promise<AcquiredLeases> {
  const monitor = await monitorRedis(inject('redisUrl'), { withScripts: true });
  return {
    get count() {
      const keys = monitor.commands.flatMap(([command = '', key = '', value = '']) => {
        const isLease = command.toLowerCase() === 'set' && key.includes(network) && key.endsWith(':lease');
        return isLease && !value.startsWith('failed ') ? [key] : [];
      });
      return new Set(keys).size;
    },
    [Symbol.asyncDispose]: async () => monitor[Symbol.dispose](),
  };
}
