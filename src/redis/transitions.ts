import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { firstSentence } from '../reason-of.ts';
import type { Ms } from '../time-units.ts';
import { connectMasters } from './open-client.ts';
import { onRefusals } from './patch-ioredis.ts';

/**
 * Redis was connected, or the connection was lost or could not be opened. Reported once per change, not per attempt.
 */
export type RedisTransition =
  | { readonly state: 'connected' }
  | { readonly state: 'disconnected'; readonly reason: string };

const NO_REASON = 'connection closed';

/** While a server refuses a command or key that toncache needs, it is tried this often. */
const TRY_EVERY_MS: Ms = 1000;

/** Answers of a server that lacks something toncache needs, as opposed to one that is temporarily unable. */
const REFUSALS = /^(MOVED|NOPERM|ERR (unknown command|.*ACL failure|The user executing the script can't))/i;

export interface ReportTransitionsDependencies {
  readonly client: Redis | Cluster;
  /** Must not occur in a reason. */
  readonly secrets: readonly string[];
  /** Uses a new connection as toncache will; rejects with the error of Redis. */
  readonly tryOut: () => Promise<void>;
  readonly onTransition: (transition: RedisTransition) => void;
  /** Called with each reason for which the client, or a node of it, cannot be used. */
  readonly onReason: (reason: string) => void;
}

/**
 * Reports when a client becomes usable and when it stops being usable; a Cluster is usable while one of its nodes is. A
 * client that is refused a command or a key is not usable until it is allowed, even if no request needs it in the
 * meantime.
 */
export function reportTransitions({
  client,
  secrets,
  tryOut,
  onTransition,
  onReason,
}: ReportTransitionsDependencies): void {
  let state: RedisTransition['state'] | undefined;
  let reason = NO_REASON;
  let connects = 0;
  const report = (transition: RedisTransition) => {
    if (transition.state === state) return;
    state = transition.state;
    onTransition(transition);
  };
  const disconnected = () => report({ state: 'disconnected', reason });
  const because = (error: Error, node = '') => {
    const text = describe(error, secrets);
    reason = text.includes(node) ? text : `${node}: ${text}`;
    onReason(reason);
  };
  const usable = async () => {
    const connect = ++connects;
    if (client instanceof Cluster) await connectMasters(client);
    for (;;) {
      const refusal = await tryOut().catch((error: Error) => (REFUSALS.test(error.message) ? error : undefined));
      if (client.status !== 'ready' || connect !== connects) return;
      if (refusal === undefined) break;
      because(refusal);
      disconnected();
      await sleep(TRY_EVERY_MS, undefined, { ref: false });
    }
    reason = NO_REASON;
    report({ state: 'connected' });
  };
  client.on('ready', () => void usable());
  client.on('reconnecting', disconnected);
  // An error of one node; the others may be usable.
  client.on('node error', because);
  onRefusals(client, because);
  client.on('error', (error: Error & { readonly lastNodeError?: Error }) => {
    because(error.lastNodeError ?? error);
    // A client that asks sentinels for the primary never emits `reconnecting`.
    if (client.status !== 'ready') disconnected();
  });
}

/** ioredis' message about a server that hangs, and our own message for it. */
const [SOCKET_TIMEOUT, NOT_IN_TIME] = ['Socket timeout', 'a command was not answered in time'];

const OF_CLUSTER = 'this server is a node of a Cluster: REDIS_URL has to begin with redis-cluster://';

// Only this text of an error leaves the file: after a failed handshake its `command` contains the password, and servers
// that do not know a command repeat its arguments.
function describe(error: Error & { readonly code?: unknown }, secrets: readonly string[]): string {
  // When sentinels fail, ioredis adds its retry delay to the message. The delay is removed and the cause stays.
  const message = error.message.replace(/ Retrying from scratch after \S+ms\./, '').replace(/\. Last error: /, ': ');
  const isOfCluster = message.startsWith('MOVED');
  const known = isOfCluster ? OF_CLUSTER : message.startsWith(SOCKET_TIMEOUT) ? NOT_IN_TIME : undefined;
  const text = known ?? (message || String(error.code ?? error.name));
  return firstSentence(secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, '***'), text));
}
