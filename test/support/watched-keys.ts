import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { adminOf } from './redis-cluster.ts';
import type { RedisServer } from './redis-server.ts';

/** What servers were asked about keys whose load is shared by leases. */
export interface WatchedKeys extends AsyncDisposable {
  /** Waits that began: an instance learned that another one loads. */
  readonly waits: number;
  /** Polls by waiting instances after the entry was stored: no message had woken them yet. */
  readonly looksAfterStores: number;
  /** On how many of the servers an entry was stored. */
  readonly mastersWithStores: number;
}

/** Watches all that the servers are asked from now on. */
export async function watchKeys(servers: readonly RedisServer[]): Promise<WatchedKeys> {
  const stored = new Set<string>();
  const waiting = new Set<string>();
  const mastersWithStores = new Set<RedisServer>();
  let looksAfterStores = 0;
  const monitors: Redis[] = [];
  for (const server of servers) {
    const admin = adminOf(server.port);
    await once(admin, 'ready');
    const monitor = await admin.monitor();
    admin.disconnect();
    monitors.push(monitor);
    monitor.on('monitor', (_time: string, [command = '', ...args]: string[]) => {
      const [first = '', second = ''] = args;
      const name = command.toLowerCase();
      if (name === 'set' && !first.endsWith(':lease') && first.includes('{')) {
        stored.add(first);
        mastersWithStores.add(server);
      } else if (name === 'sadd') {
        waiting.add(`${first} ${second}`);
      } else if (name === 'evalsha' && args.includes('watch') && stored.has(args[2] ?? '')) {
        looksAfterStores++;
      }
    });
  }
  return {
    get waits() {
      return waiting.size;
    },
    get looksAfterStores() {
      return looksAfterStores;
    },
    get mastersWithStores() {
      return mastersWithStores.size;
    },
    [Symbol.asyncDispose]: async () => {
      for (const monitor of monitors) monitor.disconnect();
    },
  };
}
