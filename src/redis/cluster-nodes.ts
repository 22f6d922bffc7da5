import type { Cluster, Redis } from 'ioredis';
import { rememberAttempts } from './lasting-connections.ts';

/** While a node fails, the Cluster is asked at most once in this time which node holds which slots, in milliseconds. */
const LOOK_AGAIN_EVERY_MS = 500;

/**
 * Resolves once each master of a ready Cluster is connected, or cannot be. Otherwise ioredis connects to a node at the
 * first command for it, and refuses commands until it is connected.
 */
export async function connectMasters(cluster: Cluster): Promise<void> {
  const waiting = cluster.nodes('master').filter(({ status }) => status === 'wait');
  await Promise.all(waiting.map((node) => node.connect().catch(() => {})));
}

/** Keeps a Cluster connected to the nodes that hold its slots now. */
export function keepNodes(cluster: Cluster): void {
  cluster.on('+node', (node: Redis) => rememberAttempts(node));
  // Ask which node took over the slots of a lost one. No MOVED can say so, because commands for these slots are not
  // sent.
  let askedAt = Number.NEGATIVE_INFINITY;
  cluster.on('node error', () => {
    if (cluster.status !== 'ready' || performance.now() - askedAt < LOOK_AGAIN_EVERY_MS) return;
    askedAt = performance.now();
    cluster.refreshSlotsCache();
  });
}
