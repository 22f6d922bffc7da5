import { ACQUIRE, RENEW } from '../../../src/coalescing/lease-scripts.ts';
import { RedisLease } from '../../../src/coalescing/redis-lease.ts';

export const LEASE_MS = 1500;
export const RENEW_EVERY_MS = 500;
export const LONGEST_MS = 6000;
export const BUDGET_MS = 50;
export const STAMP = Buffer.from('12345678');

export type Reply = unknown | Promise<unknown>;

/** A Redis whose replies to scripts the test sets, and that delivers messages. */
export class ScriptedRedis {
  readonly calls: { readonly script: string; readonly args: readonly (string | Buffer | number)[]; at: number }[] = [];
  readonly replies: (() => Reply)[] = [];
  otherwise: () => Reply = () => ['taken'];
  send: (message: string) => void = () => {};

  readonly runScript = async (script: string, _: readonly string[], args: readonly (string | Buffer | number)[]) => {
    this.calls.push({ script, args, at: Date.now() });
    return (this.replies.shift() ?? this.otherwise)();
  };

  readonly listen = (_: string, onMessage: (message: Buffer) => void) => {
    this.send = (message) => onMessage(Buffer.from(message));
  };

  /** When Redis was looked at while waiting, counted from the acquisition. */
  get pollsAt(): number[] {
    const [acquiredAt = 0, ...polls] = this.calls.filter(({ script }) => script === ACQUIRE).map(({ at }) => at);
    return polls.map((at) => at - acquiredAt);
  }

  /** What ended leases, and whose. */
  get ended(): [script: string, token: unknown][] {
    return this.calls.flatMap(({ script, args }) =>
      script === ACQUIRE || script === RENEW ? [] : [[script, args[0]]],
    );
  }

  /** When leases were renewed, counted from the acquisition, and what was sent: the token, the age, the milliseconds. */
  get renewals(): [at: number, ...args: unknown[]][] {
    const acquiredAt = this.calls[0]?.at ?? 0;
    return this.calls.flatMap(({ script, args, at }) => (script === RENEW ? [[at - acquiredAt, ...args]] : []));
  }
}

/** The leases of one instance on this Redis. */
export function leasesOn(redis: ScriptedRedis): RedisLease {
  return new RedisLease(
    {
      redis,
      redisKey: (key) => `toncache:{${key}}`,
      now: Date.now,
    },
    {
      leaseMs: LEASE_MS,
      renewEveryMs: RENEW_EVERY_MS,
      longestMs: LONGEST_MS,
      collapseWindowMs: 1000,
      failureTtlMs: 250,
      pollBudgetMs: BUDGET_MS,
    },
  );
}

export const never = () => new Promise<never>(() => {});
