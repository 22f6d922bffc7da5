import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failed } from '../../src/simulator/faults.ts';
import {
  attributesOf,
  type ExportedSpan,
  startTraceCollector,
  type TraceCollector,
} from '../support/trace-collector.ts';
import { newestBlock, parentOfSettled } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENTS_SPAN = '00f067aa0ba902b7';
const TRACE = `00-${TRACE_ID}-${CLIENTS_SPAN}-01`;
const NOT_SAMPLED = `00-${TRACE_ID}-${CLIENTS_SPAN}-00`;

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

describe('with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  let collector: TraceCollector;
  let world: World;

  beforeEach(async () => {
    collector = await startTraceCollector();
    world = await aWorld();
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  const aWorld = (env: Record<string, string> = {}) =>
    World.start({ ...ANY_WORLD, proxy: { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env } } });

  /** Ends the proxy, which exports what is left, and gives the spans of a kind. */
  async function spansOf(kind: number): Promise<readonly ExportedSpan[]> {
    await world.proxy.close();
    return collector.spans.filter((span) => span.kind === kind);
  }

  const sentTraces = () => world.forwarded.map(({ headers }) => headers['traceparent']);

  it('a miss makes a span under the one of the client, and one below it, which the indexer is sent', async () => {
    const target = newestBlock(world);
    const { headers } = await world.ask(target, { headers: { traceparent: TRACE } });
    const [server] = await spansOf(SERVER);
    const [client] = await spansOf(CLIENT);
    expect(server).toMatchObject({ name: 'GET /api/v3/masterchainBlockShards', traceId: TRACE_ID });
    expect(server?.parentSpanId).toBe(CLIENTS_SPAN);
    expect(attributesOf(server as ExportedSpan)).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': '/api/v3/masterchainBlockShards',
      'toncache.cache_status': headers['cache-status'],
      'url.path': '/api/v3/masterchainBlockShards',
      'url.scheme': 'http',
    });
    expect(client).toMatchObject({ name: 'GET /api/v3/masterchainBlockShards', parentSpanId: server?.spanId });
    expect(attributesOf(client as ExportedSpan)).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(world.indexer.url).port),
      'url.full': `${world.indexer.url}${target}`,
    });
    expect(sentTraces()).toEqual([`00-${TRACE_ID}-${client?.spanId}-01`]);
    for (const [one, other] of [
      [server?.startTimeUnixNano, client?.startTimeUnixNano],
      [client?.endTimeUnixNano, server?.endTimeUnixNano],
    ] as const) {
      // The SDK knows when a span began to the millisecond.
      expect(BigInt(one ?? 0)).toBeLessThanOrEqual(BigInt(other ?? 0) + 1_000_000n);
    }
  });

  it('a trace is made for a request without one, and for a malformed one', async () => {
    await world.ask(newestBlock(world));
    await world.ask('/api/v3/masterchainBlockShards?seqno=1', { headers: { traceparent: `${TRACE}-x` } });
    const [first, second] = await spansOf(SERVER);
    const clients = await spansOf(CLIENT);
    expect(first?.parentSpanId ?? '').toBe('');
    expect(new Set([TRACE_ID, first?.traceId, second?.traceId]).size).toBe(3);
    expect(clients.map(({ traceId }) => traceId)).toEqual([first?.traceId, second?.traceId]);
    expect(sentTraces()).toEqual(clients.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
  });

  it('requests that share a load have a span each, and the indexer one', async () => {
    const gate = world.indexer.hold();
    const asking = { headers: { traceparent: TRACE } };
    const first = await world.proxy.sendIn(newestBlock(world), asking);
    const follower = await world.proxy.sendIn(newestBlock(world), asking);
    gate.release();
    await Promise.all([first.answer, follower.answer]);
    const servers = await spansOf(SERVER);
    expect(servers.map((span) => attributesOf(span)['toncache.cache_status']).toSorted()).toEqual([
      expect.stringMatching(/; stored$/),
      expect.stringMatching(/; collapsed$/),
    ]);
    expect(await spansOf(CLIENT)).toHaveLength(1);
  });

  it('an answer from memory makes no span', async () => {
    for (let time = 0; time < 3; time++) await world.ask(newestBlock(world), { headers: { traceparent: TRACE } });
    expect(await spansOf(SERVER)).toHaveLength(1);
  });

  it('a refresh begins a trace of its own', async () => {
    const target = parentOfSettled(world);
    await world.ask(target, { headers: { traceparent: TRACE } });
    await world.leap(3_605_000);
    const { cache } = await world.ask(target, { headers: { traceparent: TRACE } });
    expect(cache).toMatchObject({ hit: true, ttl: -5 });
    await world.untilFresh(target);
    const [, refresh] = await spansOf(CLIENT);
    expect(refresh?.parentSpanId ?? '').toBe('');
    expect(refresh?.traceId).not.toBe(TRACE_ID);
  });

  it('what is passed through has spans too, without the query, and the indexer is sent the second', async () => {
    await world[Symbol.asyncDispose]();
    world = await aWorld({ PASSTHROUGH: 'on' });
    const { headers } = await world.ask('/api/v3/blocks?limit=1&api_key=secret', { headers: { traceparent: TRACE } });
    await world.ask('/api/v3/a//b');
    const [server, refused] = await spansOf(SERVER);
    const [client, ...others] = await spansOf(CLIENT);
    expect(server).toMatchObject({ name: 'GET /api/v3/*', traceId: TRACE_ID, parentSpanId: CLIENTS_SPAN });
    expect(attributesOf(server as ExportedSpan)).toMatchObject({
      'http.route': '/api/v3/*',
      'toncache.cache_status': headers['cache-status'],
      'url.path': '/api/v3/blocks',
    });
    expect(client).toMatchObject({ name: 'GET /api/v3/*', parentSpanId: server?.spanId });
    expect(attributesOf(client as ExportedSpan)['url.full']).toBe(`${world.indexer.url}/api/v3/blocks`);
    expect(attributesOf(refused as ExportedSpan)).toMatchObject({
      'http.response.status_code': 400,
      'toncache.cache_status': 'toncache; detail=bad-request',
    });
    expect(others).toEqual([]);
    const [sent] = world.indexer.requests.recent.filter(({ target }) => target.startsWith('/api/v3/blocks'));
    expect(sent?.headers['traceparent']).toBe(`00-${TRACE_ID}-${client?.spanId}-01`);
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
  });

  it('failures are errors of their spans, refused input is none', async () => {
    world.indexer.faults.inject(failed(500), { times: 1 });
    await world.ask(newestBlock(world));
    await world.ask('/api/v3/masterchainBlockShards?seqno=x');
    const [failure, refused] = await spansOf(SERVER);
    expect(failure).toMatchObject({ status: { code: ERROR } });
    expect(attributesOf(failure as ExportedSpan)).toMatchObject({
      'error.type': '500',
      'http.response.status_code': 500,
    });
    expect(refused?.status.code ?? 0).toBe(0);
    expect(attributesOf(refused as ExportedSpan)).toMatchObject({ 'http.response.status_code': 422 });
    const [client] = await spansOf(CLIENT);
    expect(client).toMatchObject({ status: { code: ERROR } });
    expect(attributesOf(client as ExportedSpan)).toMatchObject({ 'error.type': '500' });
  });

  it('no span is exported of a trace that the client does not sample, and the indexer is told so', async () => {
    await world.ask(newestBlock(world), { headers: { traceparent: NOT_SAMPLED } });
    expect(await spansOf(SERVER)).toEqual([]);
    expect(sentTraces()).toEqual([expect.stringMatching(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`))]);
    expect(sentTraces()).not.toEqual([NOT_SAMPLED]);
  });

  it.each([
    ['always_off', '', 0],
    ['traceidratio', '0', 0],
    ['traceidratio', '1', 1],
    ['parentbased_always_off', '', 1],
    ['parentbased_traceidratio', '0.0', 1],
  ])('OTEL_TRACES_SAMPLER %s %s exports %s sampled trace', async (sampler, argument, exported) => {
    await world[Symbol.asyncDispose]();
    world = await aWorld({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument });
    await world.ask(newestBlock(world), { headers: { traceparent: TRACE } });
    expect(await spansOf(SERVER)).toHaveLength(exported);
  });
});
