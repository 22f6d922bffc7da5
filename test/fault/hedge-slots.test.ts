import { expect, it } from 'vitest';
import { someChildren } from '../support/fleet.ts';
import { answeringJson, children, GatedAnswers } from '../support/json-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

const MAX_CONCURRENCY = 4;

const askedOf = ({ heads }: ScriptedUpstream) => heads.filter((head) => head.includes('adjacentTransactions')).length;

it('no indexer exceeds its concurrency limit when requests lose to hedges, and a slot is free when its request has ended', async () => {
  const gated = new GatedAnswers();
  const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
  await using hung = await startScriptedUpstream(answeringJson(gated.answer));
  await using well = await startScriptedUpstream(answeringJson(() => isOpen.then(() => children('a'))));
  await using proxy = await startProxy({
    upstreamUrl: `${hung.url},${well.url}`,
    // A request is hedged after a tenth of the time.
    env: { UPSTREAM_MAX_CONCURRENCY: String(MAX_CONCURRENCY), UPSTREAM_TIMEOUT: '30s' },
  });
  const ask = async (count: number) => {
    const replies = await Promise.all(Array.from({ length: count }, () => proxy.ask(someChildren())));
    return [...new Set(replies.map(({ status }) => status))];
  };
  // All slots of both are taken before one of them answers.
  const hedged = ask(2 * MAX_CONCURRENCY);
  await expect.poll(() => [askedOf(hung), askedOf(well)]).toEqual([MAX_CONCURRENCY, MAX_CONCURRENCY]);
  open();
  expect(await hedged).toEqual([200]);
  expect(askedOf(well)).toBe(2 * MAX_CONCURRENCY);
  // The requests that have lost to their hedges still have their slots.
  expect(await ask(40)).toEqual([200]);
  expect(askedOf(hung)).toBe(MAX_CONCURRENCY);
  expect(await proxy.metric('upstreamInFlight')).toBe(MAX_CONCURRENCY);
  for (let each = 0; each < MAX_CONCURRENCY; each++) gated.give(children('a'));
  await expect.poll(() => proxy.metric('upstreamInFlight')).toBe(0);
});
