import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failed, refusedKey } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, parentOfSettled, unknownTransaction } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { answering, expectFailure, expectNotKept, startFaultyWorld } from './faulty-world.ts';

let world: World;

beforeEach(async () => {
  world = await startFaultyWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

describe('an error of the indexer', () => {
  it.each([422, 500, 502, 503, 504])(
    '%i in any JSON object is passed on with its status and body, and is not cached',
    async (status) => {
      for (const said of [
        '{"error": "as it said it: \u00e9"}',
        '{"error":{"code":1}}',
        '{"ok":false, "result":1}',
        '{}',
      ]) {
        const target = newestBlock(world);
        world.indexer.faults.inject(answering(said, { 'Set-Cookie': 'a=b', 'X-Internal': 'yes' }, status), {
          times: 1,
        });
        const reply = await world.ask(target);
        expect([reply.status, reply.text]).toEqual([status, said]);
        expect(reply.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
        expect(reply.headers).not.toHaveProperty('set-cookie');
        expect(reply.headers).not.toHaveProperty('x-internal');
        expect(reply.cache).toEqual({ fwd: 'miss', 'fwd-status': status, detail: 'upstream-error' });
        await expectNotKept(world, target);
        world.advance(400);
      }
    },
  );

  it.each([
    ['plain text', 'simulated'],
    ['nothing', ''],
    ['a list', '[{"error":"x"}]'],
    ['a JSON word', 'null'],
    ['a JSON object of more than 64 KiB', `{"detail":"${'x'.repeat(65_536)}"}`],
  ])('in %s is passed on with its status and an error body of toncache', async (_, said) => {
    for (const status of [422, 500, 503]) {
      const target = newestBlock(world);
      world.indexer.faults.inject(answering(said, { 'Content-Type': 'text/plain' }, status), { times: 1 });
      expectFailure(await world.ask(target), status);
      await expectNotKept(world, target);
      world.advance(400);
    }
  });

  it.each([
    ['HTML', '<html><title>404 Not Found</title></html>'],
    ['a JSON object of another form', '{"detail":"Not Found"}'],
    ['the form of fastify and NestJS', '{"message":"Route GET:/x not found","error":"Not Found","statusCode":404}'],
    ['the form of Spring', '{"timestamp":"2026","status":404,"error":"Not Found","path":"/x"}'],
    ['the form of a provider', '{"ok":false,"error":"not found","code":404}'],
    ['an error that is an object', '{"error":{"code":404,"message":"not found"}}'],
    ['an error that is a list', '{"error":["not found"]}'],
    ['a list of errors', '[{"error":"not found"}]'],
    ['an object without members', '{}'],
    ['a JSON text', '"not found"'],
    ['nothing', ''],
  ])("that is a 404 in %s, and so not in the indexer's own form, becomes 502 and is not cached", async (_, said) => {
    for (const target of [newestBlock(world), parentOfSettled(world), nothingPending()]) {
      world.indexer.faults.inject(answering(said, { 'Content-Type': 'text/html' }, 404), { times: 1 });
      const reply = await world.ask(target);
      expectFailure(reply, 502, 'upstream-invalid');
      expect(reply.cache['fwd-status']).toBe(404);
      await expectNotKept(world, target);
    }
  });

  it.each(['not-found', 'not-served', 'invalid-request'])(
    "that is a 404 in the indexer's own form, but a refusal of another toncache (%s), becomes 502 and is not cached",
    async (detail) => {
      for (const caches of [`toncache; detail=${detail}`, `toncache;detail=${detail}, Varnish; fwd=miss`]) {
        const target = newestBlock(world);
        world.indexer.faults.inject(answering('{"error":"x"}', { 'Cache-Status': caches }, 404), { times: 1 });
        expectFailure(await world.ask(target), 502, 'upstream-invalid');
        await expectNotKept(world, target);
        world.advance(400);
      }
    },
  );

  it.each([
    'toncache; hit; ttl=0; detail=memory',
    'toncache; fwd=miss; fwd-status=404; stored',
    'Varnish; detail=not-found',
    'toncache-of-others; detail=not-found',
    'toncache; fwd=miss, Varnish; detail=not-found',
  ])(
    "that is a 404 in the indexer's own form, and no refusal of another toncache, is passed on and cached: %s",
    async (caches) => {
      world.indexer.faults.inject(answering('{"error":"x"}', { 'Cache-Status': caches }, 404), { times: 1 });
      expect(await world.ask(newestBlock(world))).toMatchObject({ status: 404, cache: { stored: true } });
    },
  );

  it("that is a 404 in the indexer's own form is cached for a moment", async () => {
    const target = parentOfSettled(world);
    world.indexer.faults.inject(failed(404), { times: 1 });
    const first = await world.ask(target);
    expect([first.status, first.text, first.cache['stored']]).toEqual([404, '{"error":"simulated failure 404"}', true]);
    expect(await world.ask(target)).toMatchObject({ status: 404, cache: { hit: true } });
    world.advance(300);
    expect((await world.ask(target)).status).toBe(200);
  });

  it.each([
    ['7', '7'],
    [new Date(Date.now() + 86_400_000_000).toUTCString(), '3600'],
    ['100000', '3600'],
    ['soon', undefined],
    [undefined, undefined],
  ])('that is a 503 keeps its Retry-After if that is valid, up to an hour: %s', async (sent, seconds) => {
    world.indexer.faults.inject(failed(503, 'json', sent));
    const { status, headers } = await world.ask(unknownTransaction());
    expect([status, headers['retry-after']]).toEqual([503, seconds]);
  });

  it.each([400, 409, 414, 422])('%i is the answer to a wrong request: no failure, and no condition', async (status) => {
    world.indexer.faults.inject(failed(status), { operation: 'adjacentTransactions' });
    for (let asked = 0; asked < 20; asked++) expect((await world.ask(unknownTransaction())).status).toBe(status);
    expect(await world.proxy.metric('requests', { outcome: 'invalid' })).toBe(20);
    expect(await world.proxy.metric('requests', { outcome: 'failed' })).toBe(0);
    const { level } = JSON.parse((await world.proxy.askAdmin('/status.json')).text);
    expect(level).toBe('OK');
  });

  it.each([400, 402, 405, 408, 410, 413, 414, 418, 451])('%i is never cached', async (status) => {
    const target = newestBlock(world);
    world.indexer.faults.inject(failed(status), { times: 1 });
    const reply = await world.ask(target);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.headers['cache-control']).toBe('no-store');
    await expectNotKept(world, target);
  });
});

describe('an answer with an unexpected status', () => {
  it.each([201, 202, 203, 204, 205, 206, 226, 600])('%i becomes 502 and is not cached', async (status) => {
    const target = newestBlock(world);
    const truth = (await world.askIndexer(target)).text;
    world.indexer.faults.inject(answering(status === 204 || status === 205 ? '' : truth, {}, status), { times: 1 });
    expectFailure(await world.ask(target), 502, 'upstream-invalid');
    await expectNotKept(world, target);
  });

  it.each([300, 301, 302, 303, 304, 305, 307, 308])(
    'a redirect (%i) becomes 502, is not cached and not followed',
    async (status) => {
      await using elsewhere = await startScriptedUpstream(() => {});
      const target = newestBlock(world);
      world.indexer.faults.inject(answering('', { Location: `${elsewhere.url}/` }, status), { times: 1 });
      const reply = await world.ask(target);
      expectFailure(reply, 502, 'upstream-redirect');
      expect(reply.cache['fwd-status']).toBe(status);
      expect(reply.headers).not.toHaveProperty('location');
      await expectNotKept(world, target);
      expect(elsewhere.connections).toBe(0);
    },
  );
});

describe('an API key that the indexer refuses', () => {
  it.each([401, 403] as const)('(%i) leads to 502 for clients, and the log names the setting', async (status) => {
    const refusal = world.indexer.faults.inject(refusedKey(status));
    for (const target of [newestBlock(world), unknownTransaction(), nothingPending(), newestBlock(world)]) {
      const reply = await world.ask(target);
      expectFailure(reply, 502, 'upstream-unauthorized');
      expect(reply.cache['fwd-status']).toBe(status);
      // The rejected key is the operator's, so the client is not shown the indexer's message.
      expect(reply.text).not.toContain('does not exist');
    }
    expect(refusal.hits).toBe(4);
    const told = `refuses our API key (${status}: API key does not exist): check UPSTREAM_API_KEY.`;
    const warnings = () => world.proxy.log.filter(({ level }) => level >= 40).map(({ msg }) => msg);
    await expect.poll(warnings).toContainEqual(expect.stringContaining(told));
    for (const msg of warnings()) expect(msg).toContain(told);
    refusal.remove();
    await expectNotKept(world, newestBlock(world));
  });
});
