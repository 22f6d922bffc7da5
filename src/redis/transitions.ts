import { Cluster, type Redis } from 'ioredis';
import { connectMasters } from './open-client.ts';

/** Redis was connected, or the connection was lost or could not be made. Reported once per change, not per attempt. */
export type RedisTransition =
  | { readonly state: 'connected' }
  | { readonly state: 'disconnected'; readonly reason: string };

const NO_REASON = 'connection closed';

/** Reports when a client becomes usable and when it stops being so; a Cluster is usable while one of its nodes is. */
export function reportTransitions(
  client: Redis | Cluster,
  secrets: readonly string[],
  onTransition: (transition: RedisTransition) => void,
): void {
  let state: RedisTransition['state'] | undefined;
  let reason = NO_REASON;
  const report = (transition: RedisTransition) => {
    if (transition.state === state) return;
    state = transition.state;
    onTransition(transition);
  };
  const disconnected = () => report({ state: 'disconnected', reason });
  const because = (error: Error) => {
    reason = describe(error, secrets);
  };
  const usable = async () => {
    if (client instanceof Cluster) await connectMasters(client);
    if (client.status !== 'ready') return;
    reason = NO_REASON;
    report({ state: 'connected' });
  };
  client.on('ready', () => void usable());
  client.on('reconnecting', disconnected);
  // An error of one node; the others may be usable.
  client.on('node error', because);
  client.on('error', (error: Error & { readonly lastNodeError?: Error }) => {
    because(error.lastNodeError ?? error);
    // A client that asks sentinels for the primary never emits `reconnecting`.
    if (client.status !== 'ready') disconnected();
  });
}

// Only this text of an error leaves the file: after a failed handshake its `command` holds the password, and servers
// that do not know a command repeat its arguments.
function describe(error: Error & { readonly code?: unknown }, secrets: readonly string[]): string {
  const message = error.message.replace(/ Retrying from scratch after \S+ms\./, '');
  const text = message || String(error.code ?? error.name);
  return secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, '***'), text).slice(0, 200);
}
