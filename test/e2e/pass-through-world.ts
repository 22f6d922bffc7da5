import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { LoggedRequest } from '../../src/tools/simulator/request-log.ts';
import { connectTo } from '../support/http-client.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

/** A world that passes requests through, and whose deadline no busy machine reaches. */
export function startPassThrough({ env, overrides, ...options }: WorldProxyOptions = {}): Promise<World> {
  const proxy = { env: { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', ...env }, overrides: { ...overrides } };
  return World.start({ ...ANY_WORLD, proxy: { ...options, ...proxy } });
}

/** All requests at the indexer, of a world in which only the proxy sends any. */
export function arrivedAt({ indexer }: World): readonly LoggedRequest[] {
  return indexer.requests.recent;
}

/** A raw connection to the public port on which these bytes were sent. */
export async function open({ proxy }: World, bytes: string): Promise<Socket> {
  const socket = connectTo(proxy.url);
  await once(socket, 'connect');
  socket.write(bytes, 'latin1');
  return socket;
}
