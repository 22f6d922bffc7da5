import { expect, it } from 'vitest';
import { someChildren } from '../support/fleet.ts';
import { answeringJson, asksForHead, children, GatedAnswers } from '../support/json-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

const MAX_CONCURRENCY = 4;

const askedOf = ({ heads }: ScriptedUpstream) => heads.filter((head) => !asksForHead(head)).length;

it('no indexer has more requests than it may have while hedges lose, and each slot is free when its request has ended', async () => {
  const gated = new GatedAnswers();
  let isHung = false;
  await using hung = await startScriptedUpstream(answeringJson(() => (isHung ? gated.answer() : children('a'))));
  await using well = await startScriptedUpstream(answeringJson(() => children('a')));
  await using proxy = await startProxy({
    upstreamUrl: `${hung.url},${well.url}`,
    env: { UPSTREAM_MAX_CONCURRENCY: String(MAX_CONCURRENCY), UPSTREAM_TIMEOUT: '5min' },
    overrides: { admission: { patience: 150_000 } },
  });
  const burst = async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => proxy.ask(someChildren())));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  };
  // Until it is known how long answers take, so that requests are hedged soon.
  await burst();
  await burst();
  const before = askedOf(hung);
  isHung = true;
  // Until the indexer that hangs has all that it may have, each of them hedged.
  while (askedOf(hung) - before < MAX_CONCURRENCY) await burst();
  await burst();
  await burst();
  expect(askedOf(hung) - before).toBe(MAX_CONCURRENCY);
  expect(await proxy.metric('toncache_upstream_in_flight')).toBe(MAX_CONCURRENCY);
  for (let each = 0; each < MAX_CONCURRENCY; each++) gated.give(children('a'));
  await expect.poll(() => proxy.metric('toncache_upstream_in_flight'), { timeout: 20_000 }).toBe(0);
  const [next] = await Promise.all([proxy.ask(someChildren()), proxy.ask(someChildren())]);
  expect(next?.status).toBe(200);
});
