import type { Cluster, Redis } from 'ioredis';
import { rememberAttempts } from './lasting-connections.ts';

/** While a node fails, the Cluster is asked at most this often which node holds which slots. */
const LOOK_AGAIN_EVERY_MS = 500;

/**
 * Resolves once every master of a Cluster that is ready has been connected to, or could not be. ioredis connects to a
 * node at the first command for it, and refuses those that come until that is done.
 */
export async function connectMasters(cluster: Cluster): Promise<void> {
  await Promise.all(cluster.nodes('master').map(tryToConnect));
}

/** Keeps the connections of a Cluster to those who hold its slots now, for as long as it lasts. */
export function keepNodes(cluster: Cluster): void {
  cluster.on('+node', (node: Redis) => {
    rememberAttempts(node);
    if (cluster.status !== 'ready' || node.options.readOnly) return;
    // In a later turn: a command that is about to be sent to this node connects it by itself.
    setImmediate(() => void tryToConnect(node));
  });
  // Ask who took over the slots of a lost node: commands for them are not sent, so no MOVED can say it.
  let askedAt = Number.NEGATIVE_INFINITY;
  cluster.on('node error', () => {
    if (cluster.status !== 'ready' || performance.now() - askedAt < LOOK_AGAIN_EVERY_MS) return;
    askedAt = performance.now();
    cluster.refreshSlotsCache();
  });
}

async function tryToConnect(node: Redis): Promise<void> {
  if (node.status === 'wait') {
    await node.connect().catch(() => {});
  } else if (node.status === 'connecting' || node.status === 'connect') {
    const { promise, resolve } = Promise.withResolvers<void>();
    node.once('ready', resolve).once('close', resolve);
    await promise;
  }
}
