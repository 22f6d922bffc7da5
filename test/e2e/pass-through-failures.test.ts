import { describe, expect, it } from 'vitest';
import { type Fault, failed } from '../../src/tools/simulator/faults.ts';
import { someParent } from '../support/fleet.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';
import { arrivedAt, startPassThrough } from './pass-through-world.ts';
import { INFO, MESSAGE } from './raw-requests.ts';

describe('a passed-through request to a failing indexer', () => {
  it.each([
    ['GET', 2],
    ['POST', 1],
  ])('is sent this often when its connection is reset, which had been idle: %s, %i', async (method, times) => {
    await using world = await startPassThrough();
    // On a kept connection, clients are tempted to retry.
    await world.ask(INFO);
    const fault = world.indexer.faults.inject({ kind: 'reset' });
    const { status, cache, text } = await world.ask(MESSAGE, {
      method,
      ...(method === 'POST' ? { body: '{"boc":"AA"}' } : {}),
    });
    expect(status).toBe(502);
    expect(cache).toMatchObject({ detail: 'upstream-reset' });
    expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
    await world.proxy.untilTakenIn();
    expect(fault.hits).toBe(times);
    expect(arrivedAt(world)).toHaveLength(1 + times);
  });

  it.each(['content-length', 'chunked'] as const)(
    'shows the client that a cut answer is incomplete: %s',
    async (framing) => {
      await using world = await startPassThrough();
      world.indexer.faults.inject({ kind: 'cut', framing });
      await expect(world.ask(INFO)).rejects.toThrow();
      expect(await world.proxy.metric('upstreamInFlight')).toBe(0);
      expect(arrivedAt(world)).toHaveLength(1);
    },
  );

  it('gets 502 if the indexer cannot be reached', async () => {
    await using world = await startPassThrough();
    await world.indexer.close();
    const unreachable = { status: 502, cache: { detail: 'upstream-unreachable' } };
    expect(await world.ask(INFO)).toMatchObject({ ...unreachable, headers: { 'cache-control': 'no-store' } });
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject(unreachable);
  });

  it('gets 504 if the indexer does not answer', async () => {
    await using world = await startPassThrough({ env: { UPSTREAM_TIMEOUT: '300ms' } });
    world.indexer.faults.inject({ kind: 'hang' });
    expect(await world.ask(INFO)).toMatchObject({ status: 504, headers: { 'cache-control': 'no-store' } });
    expect(await world.ask(MESSAGE, { method: 'POST', body: '{}' })).toMatchObject({ status: 504 });
    expect(arrivedAt(world)).toHaveLength(2);
    const timeouts = { operation: 'passthrough', result: 'upstream-timeout' };
    expect(await world.proxy.metric('upstreamRequests', timeouts)).toBe(2);
  });

  it.each([
    ['500', failed(500), 500],
    ['503 in plain text', failed(503, 'text'), 503],
    ['401', { kind: 'answer', status: 401, body: '{"ok":false}' }, 401],
    ['302', { kind: 'answer', status: 302, body: '', headers: { Location: '/api/v3/other' } }, 302],
    ['204', { kind: 'answer', status: 204, body: '' }, 204],
    ['304', { kind: 'answer', status: 304, body: '' }, 304],
  ] as readonly (readonly [string, Extract<Fault, { kind: 'answer' }>, number])[])(
    'gets the answer of the indexer unchanged: %s',
    async (_, fault, status) => {
      await using world = await startPassThrough();
      world.indexer.faults.inject(fault);
      expect(await world.ask(INFO)).toMatchObject({ status, text: fault.body, cache: { fwd: 'bypass' } });
      expect(arrivedAt(world)).toHaveLength(1);
    },
  );
});

it('passed-through requests that fail do not send the misses of others to the backup', async () => {
  const answer = (target: string) =>
    target.includes('runGetMethod') ? { status: 500, body: { error: 'bad input' } } : children('a');
  await using indexer = await startScriptedUpstream(answeringJson(answer));
  await using backup = await startScriptedUpstream(answeringJson(answer));
  const env = { UPSTREAM_BACKUP_URL: backup.url, PASSTHROUGH: 'on' };
  await using proxy = await startProxy({ upstreamUrl: indexer.url, env });
  for (let time = 0; time < 10; time++) {
    const passed = await proxy.ask('/api/v3/runGetMethod', { headers: { 'X-Api-Key': 'mine' } });
    expect(passed.status).toBe(500);
  }
  expect((await proxy.ask(someParent())).status).toBe(200);
  expect(backup.asked).toEqual([]);
});
