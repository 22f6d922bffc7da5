import { expect, it } from 'vitest';
import { someChildren } from '../support/fleet.ts';
import { answeringJson, children, GatedAnswers, NOT_FOUND } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

it('a hedge to an indexer whose head is older does not win with its 404', async () => {
  const gated = new GatedAnswers();
  await using newest = await startScriptedUpstream(answeringJson(gated.answer, 1005));
  // Five blocks are not enough to be behind.
  await using older = await startScriptedUpstream(answeringJson(() => NOT_FOUND, 1000));
  const env = { UPSTREAM_TIMEOUT: '5s' };
  await using proxy = await startProxy({ upstreamUrl: `${newest.url},${older.url}`, env });
  const asked = proxy.ask(someChildren());
  const answered = () =>
    proxy.metric('toncache_upstream_requests_total', { upstream: older.url.slice(7), result: '404' });
  await expect.poll(answered, { timeout: 20_000 }).toBe(1);
  expect(newest.asked).toHaveLength(1);
  gated.give(children('a'));
  expect((await asked).status).toBe(200);
});

it('after a 404 of an indexer with an older head, the newest indexer gets the request too, unless it has no free slot', async () => {
  await using older = await startScriptedUpstream(answeringJson(() => NOT_FOUND, 1000));
  await using newest = await startScriptedUpstream(answeringJson(() => children('a'), 1005));
  await using proxy = await startProxy({ upstreamUrl: `${older.url},${newest.url}` });
  expect((await proxy.ask(someChildren())).status).toBe(200);

  const gated = new GatedAnswers();
  await using full = await startScriptedUpstream(answeringJson(gated.answer, 1005));
  await using busy = await startProxy({
    upstreamUrl: `${full.url},${older.url}`,
    env: { UPSTREAM_MAX_CONCURRENCY: '1', UPSTREAM_TIMEOUT: '5min' },
    overrides: { admission: { patience: 150_000 } },
  });
  const first = busy.ask(someChildren());
  await expect.poll(() => busy.metric('toncache_upstream_requests_in_flight')).toBe(1);
  expect((await busy.ask(someChildren())).status).toBe(404);
  gated.give(children('a'));
  expect((await first).status).toBe(200);
});
