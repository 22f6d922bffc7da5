import { expect, it } from 'vitest';
import { someChildren } from '../support/fleet.ts';
import {
  answeringJson,
  children,
  GatedAnswers,
  type JsonAnswer,
  NO_DATABASE,
  NOT_FOUND,
} from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

/** Children, and one more that is pending: of use for 2.4 s, and kept for 10 s more. */
function underWay(...hashes: string[]): JsonAnswer {
  const { body } = children(...hashes) as { readonly body: { readonly transactions: readonly object[] } };
  const pending = { hash: 'pending', mc_block_seqno: null, emulated: true };
  return { status: 200, body: { transactions: [...body.transactions, pending] } };
}

it('a hedge to an indexer whose head is older does not win with its 404', async () => {
  const gated = new GatedAnswers();
  await using newest = await startScriptedUpstream(answeringJson(gated.answer, 1005));
  // Five blocks are not enough to be behind.
  await using older = await startScriptedUpstream(answeringJson(() => NOT_FOUND, 1000));
  const env = { UPSTREAM_TIMEOUT: '5s' };
  await using proxy = await startProxy({ upstreamUrl: `${newest.url},${older.url}`, env });
  const asked = proxy.ask(someChildren());
  const answered = () => proxy.metric('upstreamRequests', { upstream: older.url.slice(7), result: '404' });
  await expect.poll(answered).toBe(1);
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
  await expect.poll(() => busy.metric('upstreamInFlight')).toBe(1);
  expect((await busy.ask(someChildren())).status).toBe(404);
  gated.give(children('a'));
  expect((await first).status).toBe(200);
});

it.each([
  ['fails', NO_DATABASE],
  ['is less complete', NOT_FOUND],
])('the first answer keeps its slot until it is stored if a second try %s', async (_, second) => {
  let now = 1_800_000_000_000;
  const gated = new GatedAnswers();
  let answer = underWay('a', 'b');
  let ungated = 1;
  // Whichever indexer gets the first request.
  const answerNext = () => (ungated-- > 0 ? answer : gated.answer());
  await using one = await startScriptedUpstream(answeringJson(answerNext));
  await using other = await startScriptedUpstream(answeringJson(answerNext));
  await using proxy = await startProxy({
    upstreamUrl: `${one.url},${other.url}`,
    env: { UPSTREAM_TIMEOUT: '5min' },
    now: () => now,
  });
  const target = someChildren();
  await proxy.ask(target);
  now += 5000;
  answer = underWay('a');
  ungated = 1;
  const sentTo = () => one.asked.length + other.asked.length;
  const before = sentTo();
  const inFlight = () => proxy.metric('upstreamInFlight');
  const asked = proxy.reply(target);
  await expect.poll(inFlight).toBe(2);
  gated.give(second);
  const { text } = await asked;
  expect(await proxy.reply(target)).toMatchObject({ text, cache: { hit: true } });
  expect(sentTo() - before).toBe(2);
  expect(await inFlight()).toBe(0);
});
