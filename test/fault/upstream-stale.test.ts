import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { asksForHead, headAt } from '../support/json-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const [SECOND, HOUR] = [1000, 3_600_000];
const START = 1_800_000_000_000;
const HASH = 'A'.repeat(43);
const PARENT = `adjacentTransactions?hash=${HASH}&direction=in`;
const TRACES = `pendingTraces?ext_msg_hash=${HASH}`;

let now: number;
let says: (socket: Socket) => void;
let upstream: ScriptedUpstream;
let proxy: RunningProxy;

beforeEach(async () => {
  now = START;
  const sayHead = () => writes(answer(200, JSON.stringify(headAt(now).body)));
  upstream = await startScriptedUpstream((socket, head) => (asksForHead(head) ? sayHead() : says)(socket));
  proxy = await startProxy({
    upstreamUrl: upstream.url,
    env: { UPSTREAM_TIMEOUT: '60s' },
    // A request that is held at the end of a test is not waited for.
    overrides: { coalescing: { failureTtl: 0 }, upstream: { maxBodySize: 4096 }, http: { drain: 100 } },
    now: () => now,
  });
});

afterEach(async () => {
  vi.useRealTimers();
  await proxy.close();
  await upstream[Symbol.asyncDispose]();
});

const answer = (status: number, body: string, head = '') =>
  `HTTP/1.1 ${status} Said\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${head}\r\n${body}`;

const writes = (bytes: string) => (socket: Socket) => void socket.write(bytes);
const fails = writes(answer(500, '{"error":"down"}'));

const ask = (target: string) => proxy.reply(`/api/v3/${target}`);

const blockSet = [-1, 0].map((workchain) => ({ workchain, seqno: 7, masterchain_block_ref: { seqno: 7 } }));
const final = { mc_block_seqno: 7, emulated: false, finality: 'finalized', now: START / SECOND - 1000 };
const pending = { emulated: true, finality: 'pending', now: START / SECOND };
const traceOf = (transaction: object) => ({ traces: [{ transactions: { a: transaction } }] });

describe('when the indexer fails', () => {
  const large = answer(200, `{"blocks":[${'0,'.repeat(4000)}0]}`);
  const failures: [string, string, (socket: Socket) => void][] = [
    ['500', 'upstream-error', fails],
    ['a 404 that is not its own', 'upstream-invalid', writes(answer(404, 'nothing here'))],
    ['429', 'upstream-rate-limited', writes(answer(429, 'slow down'))],
    ['401', 'upstream-refused-key', writes(answer(401, '{}'))],
    ['403', 'upstream-refused-key', writes(answer(403, '{}'))],
    ['a redirect', 'upstream-redirect', writes(answer(302, '', 'Location: /\r\n'))],
    ['no JSON', 'upstream-invalid', writes(answer(200, '<html>'))],
    ['no list', 'upstream-invalid', writes(answer(200, '{}'))],
    ['a body cut short', 'upstream-invalid', (socket) => socket.end(large.slice(0, 300))],
    ['too large a body', 'upstream-too-large', writes(large)],
    ['broken gzip', 'upstream-invalid', writes(answer(200, 'x', 'Content-Encoding: gzip\r\n'))],
    ['a reset', 'upstream-unreachable', (socket) => socket.resetAndDestroy()],
    ['silence', 'upstream-timeout', () => vi.advanceTimersByTime(60_000)],
  ];
  it.each(failures)('by %s, the stale answer says so in Cache-Status', async (_, detail, failure) => {
    if (detail === 'upstream-timeout') vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    says = writes(answer(200, JSON.stringify({ transactions: [final] })));
    const { text, headers } = await ask(PARENT);
    says = failure;
    now = START + 2 * HOUR;
    const reply = await ask(PARENT);
    expect([reply.status, reply.text, reply.headers.etag]).toEqual([200, text, headers.etag]);
    expect(reply.headers.age).toBe('7200');
    expect(reply.cache).toMatchObject({ fwd: 'stale', ttl: -3600, detail });
    expect(reply.cache).not.toHaveProperty('stored');
  });

  it('a stale answer that could not be refreshed is served at the next failure too, and replaced by the next answer', async () => {
    const target = 'masterchainBlockShards?seqno=7';
    says = writes(answer(200, JSON.stringify({ blocks: blockSet })));
    await ask(target);
    says = fails;
    now = START + 25 * HOUR;
    for (let time = 0; time < 3; time++) expect((await ask(target)).status).toBe(200);
    const fresh = JSON.stringify({ blocks: [...blockSet, blockSet[1]] });
    says = writes(answer(200, fresh));
    expect(await ask(target)).toMatchObject({ text: fresh, cache: { fwd: 'stale', 'fwd-status': 200, stored: true } });
    expect(await ask(target)).toMatchObject({ text: fresh, cache: { hit: true } });
  });

  it('a failure that is reused within its TTL does not extend how long a stale answer is served', async () => {
    const failing = { coalescing: { failureTtl: 60_000 } };
    await using other = await startProxy({ upstreamUrl: upstream.url, overrides: failing, now: () => now });
    says = writes(answer(200, JSON.stringify({ transactions: [final] })));
    await other.ask(`/api/v3/${PARENT}`);
    says = fails;
    now = START + 25 * HOUR - 1;
    expect((await other.ask(`/api/v3/${PARENT}`)).status).toBe(200);
    now++;
    expect((await other.ask(`/api/v3/${PARENT}`)).status).toBe(500);
    expect(upstream.heads).toHaveLength(2);
  });
});

describe('a stale answer that may be served while it is refreshed', () => {
  it('is served at once though the indexer does not answer', async () => {
    says = writes(answer(200, JSON.stringify(traceOf(pending))));
    const { text } = await ask(TRACES);
    const asked = Promise.withResolvers<void>();
    says = () => asked.resolve();
    now = START + 500;
    const reply = await ask(TRACES);
    expect(reply).toMatchObject({ status: 200, text, cache: { hit: true, ttl: -1, detail: 'memory' } });
    await asked.promise;
    expect(upstream.heads).toHaveLength(2);
  });
});
