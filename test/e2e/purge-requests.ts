import { expect } from 'vitest';
import type { Answered, Asking } from '../support/http-client.ts';
import type { RunningProxy } from '../support/start-proxy.ts';
import { type CacheStatus, parseCacheStatus } from './cache-status.ts';

export type Reply = Answered & { readonly cache: CacheStatus };

/** Machines that are busy with other things must not look like a Redis that fails. */
export const PATIENT = { budget: 10_000, connectTimeout: 10_000, failuresToOpen: 1000 };

/** Everything lives long enough to be seen to end. */
export const LASTING = { lifetime: 60_000, memoryTtl: 60_000, staleWhileRevalidate: 60_000, staleIfError: 60_000 };

export async function ask(proxy: RunningProxy, target: string, asking: Asking = {}): Promise<Reply> {
  const answered = await proxy.ask(target, asking);
  return { ...answered, cache: parseCacheStatus(answered.headers['cache-status']) };
}

export function purge(proxy: RunningProxy, body: object): Promise<Answered> {
  return proxy.askAdmin('/purge', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

export async function purged(
  proxy: RunningProxy,
  body: object,
): Promise<{ purged: object; soft: boolean; at: number }> {
  const { status, text } = await purge(proxy, body);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text);
}

/** Until an instance has followed so many records. */
export async function untilFollowed(proxy: RunningProxy, records = 1): Promise<void> {
  await expect.poll(() => proxy.metric('toncache_purges_followed_total')).toBeGreaterThanOrEqual(records);
}
