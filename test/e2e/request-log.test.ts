import { describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { newestBlock, nothingPending, targetOf, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World, type WorldProxyOptions } from './world.ts';

const startWorld = (proxy: WorldProxyOptions) => World.start({ ...ANY_WORLD, proxy });

const linesOf = ({ proxy }: World) => proxy.log.filter(({ msg }) => msg === 'request');
const idsAtIndexer = ({ indexer }: World) => indexer.requests.recent.map(({ headers }) => headers['x-request-id']);

describe('a request', () => {
  it('is found by its id in the answer, in the log and at the indexer', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'all' } });
    const reply = await world.ask(newestBlock(world), { headers: { 'X-Request-Id': 'wallet/7:a=b' } });
    expect(reply.headers['x-request-id']).toBe('wallet/7:a=b');
    expect(idsAtIndexer(world)).toContain('wallet/7:a=b');
    expect(linesOf(world)).toEqual([
      expect.objectContaining({
        requestId: 'wallet/7:a=b',
        client: '127.0.0.0/24',
        operation: 'masterchainBlockShards',
        key: expect.stringMatching(/^[\w-]{16}$/),
        status: 200,
        cacheStatus: expect.stringContaining('fwd=miss'),
        durationMs: expect.any(Number),
      }),
    ]);
  });

  it('that memory answers is logged with the id that its client sent, which the answer omits', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'all' } });
    const target = newestBlock(world);
    await world.ask(target);
    const hit = await world.ask(target, { headers: { 'X-Request-Id': 'wallet-9' } });
    expect([hit.headers['x-request-id'], linesOf(world).at(-1)]).toEqual([
      undefined,
      expect.objectContaining({ requestId: 'wallet-9', cacheStatus: expect.stringContaining('hit') }),
    ]);
    await world.ask(target);
    expect(linesOf(world).at(-1)).not.toHaveProperty('requestId');
    const { loggedKey } = JSON.parse(
      (await world.proxy.askAdmin(`/explain?target=${encodeURIComponent(target)}`)).text,
    );
    expect(linesOf(world).at(-1)).toMatchObject({ key: loggedKey });
  });

  it('that joined the load of another request is logged with the id of that request', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'all' } });
    world.indexer.faults.latencyMs = 500;
    const target = nothingPending();
    const first = await world.proxy.sendIn(target, { headers: { 'X-Request-Id': 'first' } });
    const second = await world.proxy.sendIn(target, { headers: { 'X-Request-Id': 'second' } });
    await Promise.all([first.answer, second.answer]);
    expect(idsAtIndexer(world)).toEqual(['first']);
    const lines = linesOf(world) as { requestId?: string; collapsedWith?: string }[];
    expect(lines.map(({ requestId, collapsedWith }) => [requestId, collapsedWith]).sort()).toEqual([
      ['first', undefined],
      ['second', 'first'],
    ]);
  });

  it('is logged with the reason if it was not sent, and with the failed indexer if there are several', async () => {
    await using refusing = await startWorld({
      env: { LOG_REQUESTS: 'failed' },
      overrides: { breaker: { minimumThroughput: 3 } },
    });
    refusing.indexer.faults.inject(failed(500));
    for (let time = 0; time < 4; time++) await refusing.ask(unknownTransaction());
    expect(linesOf(refusing)).toEqual([
      ...Array.from({ length: 3 }, () => expect.not.objectContaining({ reason: expect.anything() })),
      expect.objectContaining({ status: 503, reason: 'breaker-open' }),
    ]);
    await using several = await startWorld({
      upstreamUrl: `${refusing.indexer.url},http://127.0.0.1:1`,
      env: { LOG_REQUESTS: 'failed' },
    });
    await several.ask(unknownTransaction());
    const hosts = [new URL(refusing.indexer.url).host, '127.0.0.1:1'];
    expect(hosts).toContain((linesOf(several)[0] as { upstream?: string }).upstream);
  });

  it('that got HTML instead of JSON is logged with the status, type and first 100 bytes of that answer', async () => {
    await using world = await startWorld({});
    const body = `<!doctype html>\n${'x'.repeat(200)}`;
    world.indexer.faults.inject({ kind: 'answer', status: 200, body, headers: { 'Content-Type': 'text/html' } });
    await world.ask(unknownTransaction());
    expect(world.proxy.log).toContainEqual(
      expect.objectContaining({
        msg: 'the response of the indexer is not what its API describes',
        status: 200,
        contentType: 'text/html',
        bodyStart: body.slice(0, 100),
      }),
    );
  });

  it('that is passed through has the same id at the indexer as in its answer', async () => {
    await using world = await startWorld({ env: { PASSTHROUGH: 'on' } });
    for (const given of ['wallet-8', 'x'.repeat(129)]) {
      const { headers } = await world.ask('/api/v3/masterchainInfo', { headers: { 'X-Request-Id': given } });
      expect(idsAtIndexer(world).at(-1)).toBe(headers['x-request-id']);
    }
    expect(idsAtIndexer(world)).toContain('wallet-8');
  });

  it('without an id, or with an invalid one, gets an id that is the same in answer, log and indexer', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'all' } });
    for (const given of [undefined, 'a b', 'x'.repeat(129)]) {
      const reply = await world.ask(nothingPending(), {
        headers: given === undefined ? {} : { 'X-Request-Id': given },
      });
      const id = reply.headers['x-request-id'];
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      expect([idsAtIndexer(world).at(-1), linesOf(world).at(-1)]).toEqual([
        id,
        expect.objectContaining({ requestId: id }),
      ]);
    }
  });

  it.each([
    ['all', [200, 200, 422, 502]],
    ['slow', [502]],
    ['failed', [502]],
    ['off', []],
  ])('is logged according to LOG_REQUESTS=%s', async (mode, logged) => {
    await using world = await startWorld({ env: { LOG_REQUESTS: mode } });
    const target = newestBlock(world);
    for (let time = 0; time < 2; time++) await world.ask(target);
    await world.ask(targetOf('masterchainBlockShards', { seqno: 'x' }));
    world.indexer.faults.inject(failed(502));
    await world.ask(nothingPending());
    expect(linesOf(world).map((line) => (line as { status?: number }).status)).toEqual(logged);
  });

  it('that failed is logged at most ten times a second, and the others are counted', async () => {
    await using world = await startWorld({ env: { LOG_REQUESTS: 'failed' }, stopsTime: true });
    world.indexer.faults.inject(failed(404, 'text'));
    const ask = async (times: number) => {
      for (let time = 0; time < times; time++) await world.ask(nothingPending());
    };
    await ask(15);
    world.advance(1000);
    await ask(1);
    const lines = linesOf(world) as { suppressed?: number }[];
    expect([lines.length, lines.at(-1)?.suppressed]).toEqual([11, 5]);
  });
});
