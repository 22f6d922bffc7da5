import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { adminOf } from './redis-cluster.ts';
import type { RedisServer } from './redis-server.ts';

/** What servers were asked about keys whose load is shared by leases. */
export interface WatchedKeys extends AsyncDisposable {
  /** Waits that began: an instance learned that another one loads. */
  readonly waits: number;
  /** Polls by waiting instances after the lease was ended: no message had woken them yet. */
  readonly looksAfterEnds: number;
  /** On how many of the servers an entry was stored. */
  readonly mastersWithStores: number;
}

/** Watches all that the servers are asked from now on. */
export async function watchKeys(servers: readonly RedisServer[]): Promise<WatchedKeys> {
  const ended = new Set<string>();
  const waiting = new Set<string>();
  const mastersWithStores = new Set<RedisServer>();
  let looksAfterEnds = 0;
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
        mastersWithStores.add(server);
      } else if (name === 'del' && first.endsWith(':lease')) {
        ended.add(first.slice(0, -':lease'.length));
      } else if (name === 'sadd') {
        waiting.add(`${first} ${second}`);
      } else if (name === 'evalsha' && args.includes('watch') && ended.has(args[2] ?? '')) {
        looksAfterEnds++;
      }
    });
  }
  return {
    get waits() {
      return waiting.size;
    },
    get looksAfterEnds() {
      return looksAfterEnds;
    },
    get mastersWithStores() {
      return mastersWithStores.size;
    },
    [Symbol.asyncDispose]: async () => {
      for (const monitor of monitors) monitor.disconnect();
    },
  };
}
