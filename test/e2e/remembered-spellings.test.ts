import { afterEach, expect, it, vi } from 'vitest';
import { CallMemo } from '../../src/ton/call-memo.ts';
import { Fleet, someChildren } from '../support/fleet.ts';
import { children } from '../support/json-upstream.ts';

afterEach(() => vi.restoreAllMocks());

it('the spelling of a hit from Redis is remembered, and that of a miss is not', async () => {
  await using fleet = await Fleet.start(() => children('a'), { instances: 2 });
  const remember = vi.spyOn(CallMemo.prototype, 'remember');
  const target = someChildren();
  expect((await fleet.get(0).ask(target)).headers['cache-status']).toContain('fwd=miss');
  expect(remember).not.toHaveBeenCalled();
  await fleet.get(0).untilRedisHasAll();
  expect((await fleet.get(1).ask(target)).headers['cache-status']).toContain('detail=redis');
  expect(remember).toHaveBeenCalledTimes(1);
});
