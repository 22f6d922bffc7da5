import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { LoggedRequest } from '../../src/tools/simulator/request-log.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

/** A world that passes requests through, and whose deadline no busy machine reaches. */
export function startPassThrough({ env, overrides }: WorldProxyOptions = {}): Promise<World> {
  const proxy = { env: { PASSTHROUGH: 'on', UPSTREAM_TIMEOUT: '60s', ...env }, overrides: { ...overrides } };
  return World.start({ ...ANY_WORLD, proxy });
}

/** All requests at the indexer, of a world in which only the proxy sends any. */
export function arrivedAt({ indexer }: World): readonly LoggedRequest[] {
  return indexer.requests.recent;
}

/** A raw connection to the public port on which these bytes were sent. */
export async function open({ proxy }: World, bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(proxy.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write(bytes, 'latin1');
  return socket;
}
