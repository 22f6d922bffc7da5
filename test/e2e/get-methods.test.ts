import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Account } from '../../src/tools/simulator/accounts.ts';
import { Chain } from '../../src/tools/simulator/chain.ts';
import { failed } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { addressSpellings } from '../../src/tools/simulator/spellings.ts';
import { writeAddressCell } from '../../src/tools/simulator/transfer-body.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const RUN = '/api/v3/runGetMethod';
const JSON_TYPE = { 'Content-Type': 'application/json' };

let indexer: Indexer;
let proxy: RunningProxy;

async function start(env: Readonly<Record<string, string>> = { CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on' }) {
  proxy = await startProxy({ upstreamUrl: indexer.url, env });
}

beforeEach(async () => {
  const startAt = Date.now() - 30_000;
  indexer = await startIndexer({ chain: new Chain({ startAt, jettons: { owners: 2, everyMs: 60_000 } }) });
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  await indexer.close();
});

const master = (): Account => indexer.chain.jettons.masters[0] as Account;
const asking = (body: object | string, headers: Readonly<Record<string, string>> = JSON_TYPE) => ({
  method: 'POST',
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const data = (address = master().address, more: object = {}) => ({
  address,
  method: 'get_jetton_data',
  stack: [],
  ...more,
});
const post = (body: object | string, headers?: Readonly<Record<string, string>>) =>
  proxy.reply(RUN, asking(body, headers));
const sent = () => indexer.requests.recent.filter(({ operation }) => operation === 'runGetMethod');

describe('a get-method', () => {
  it('is answered byte for byte as by the indexer, and kept for no later request', async () => {
    await start();
    const direct = await fetch(indexer.url + RUN, asking(data()));
    indexer.requests.reset();
    const first = await post(data());
    expect(first.text).toBe(await direct.text());
    expect(first.headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
    expect(first.headers).not.toHaveProperty('etag');
    expect(first.cache).toMatchObject({ fwd: 'miss', 'fwd-status': 200 });
    expect((await post(data())).cache).toMatchObject({ fwd: 'miss' });
    expect(sent()).toHaveLength(2);
  });

  it('reaches the indexer as one form, whatever its spelling', async () => {
    await start();
    const slice = writeAddressCell(indexer.chain.accounts.elector);
    const stack = [{ type: 'slice', value: slice }];
    const spellings = Object.values(addressSpellings(master()));
    for (const address of spellings) await post({ stack, method: 'get_wallet_address', address });
    await post(
      ` { "method":"get_wallet_address" , "stack":[{"value":${JSON.stringify(slice)},"type":"slice"}],"address":"${master().address}"}`,
      { 'Content-Type': 'Application/JSON; charset="UTF-8"' },
    );
    const bodies = new Set(sent().map(({ body }) => body.toString()));
    expect(sent()).toHaveLength(spellings.length + 1);
    expect([...bodies]).toEqual([
      `{"address":"${master().address}","method":"get_wallet_address","stack":[{"type":"slice","value":"${slice}"}]}`,
    ]);
    expect(sent()[0]?.headers['content-type']).toBe('application/json');
  });

  it('is sent once for requests within 100 ms, and again for a later one', async () => {
    let time = 0;
    proxy = await startProxy({
      upstreamUrl: indexer.url,
      env: { CACHE_OPERATIONS: 'runGetMethod' },
      monotonic: () => time,
    });
    const gate = indexer.hold('runGetMethod');
    const answers = [await proxy.sendIn(RUN, asking(data())), await proxy.sendIn(RUN, asking(data()))];
    await expect.poll(() => sent().length).toBe(1);
    time += 99;
    answers.push(await proxy.sendIn(RUN, asking(data())));
    expect(sent()).toHaveLength(1);
    time += 1;
    answers.push(await proxy.sendIn(RUN, asking(data())));
    await expect.poll(() => sent().length).toBe(2);
    gate.release();
    for (const { answer } of answers) expect((await answer).status).toBe(200);
  });

  it.each([
    ['a number as method', () => data(master().address, { method: 7 })],
    ['an empty method', () => data(master().address, { method: '' })],
    ['an empty address', () => data('')],
    ['a tuple', () => data(master().address, { stack: [{ type: 'tuple', value: [] }] })],
    ['an unknown member', () => data(master().address, { seqno: 7 })],
    ['another case of a member', () => data(master().address, { Method: 'seqno' })],
    ['no stack', () => ({ address: master().address, method: 'seqno' })],
    ['17 arguments', () => data(master().address, { stack: Array(17).fill({ type: 'num', value: 1 }) })],
    [
      'a number that is not exact',
      () => `{"address":"${master().address}","method":"seqno","stack":[{"type":"num","value":12345678901234567890}]}`,
    ],
    ['minus zero', () => `{"address":"${master().address}","method":"seqno","stack":[{"type":"num","value":-0}]}`],
    ['half a character', () => `{"address":"${master().address}","method":"\\ud800","stack":[]}`],
    ['more than 4 KB', () => data(master().address, { stack: [{ type: 'cell', value: 'x'.repeat(4096) }] })],
    ['no JSON', () => 'address=x'],
  ])('is passed through unchanged with %s', async (_, body) => {
    await start({ CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH: 'on' });
    const given = body();
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    const direct = await fetch(indexer.url + RUN, asking(text));
    indexer.requests.reset();
    const answered = await post(text);
    expect({ status: answered.status, text: answered.text }).toEqual({
      status: direct.status,
      text: await direct.text(),
    });
    expect(sent().map((request) => request.body.toString())).toEqual([text]);
    expect(await proxy.metric('toncache_upstream_requests_total', { operation: 'runGetMethod' })).toBe(0);
  });

  it.each([
    ['another type', { 'Content-Type': 'text/plain' }],
    ['a charset that JSON does not have', { 'Content-Type': 'application/json; charset=latin1' }],
    ['a content coding', { ...JSON_TYPE, 'Content-Encoding': 'identity' }],
  ])('is passed through with %s', async (_, headers) => {
    await start();
    await post(data(), headers);
    expect(sent()[0]?.headers).toMatchObject({ 'content-type': headers['Content-Type'] });
    expect(await proxy.metric('toncache_upstream_requests_total', { operation: 'passthrough' })).toBe(1);
  });

  it('gets 501 in any other form where nothing is passed through, and 405 for a GET', async () => {
    await start({ CACHE_OPERATIONS: 'runGetMethod' });
    expect((await post(data())).status).toBe(200);
    expect(await post(data(''))).toMatchObject({ status: 501, cache: { detail: 'not-cacheable' } });
    const got = await proxy.reply(RUN);
    expect({ status: got.status, allow: got.headers['allow'] }).toEqual({ status: 405, allow: 'POST, OPTIONS' });
    const preflight = await proxy.ask(RUN, { method: 'OPTIONS' });
    expect(preflight.headers['access-control-allow-methods']).toContain('POST');
  });

  it('is opened by `all` where a list of passed paths names it, by its own name everywhere', async () => {
    const isOpen = async (env: Readonly<Record<string, string>>) => {
      await start(env);
      const { status } = await post(data());
      const { text } = await proxy.askAdmin('/status.json');
      expect(text).toBeTruthy();
      const isCached = (await proxy.metric('toncache_upstream_requests_total', { operation: 'runGetMethod' })) > 0;
      await proxy[Symbol.asyncDispose]();
      return `${status} ${isCached}`;
    };
    expect(await isOpen({ CACHE_OPERATIONS: 'all', PASSTHROUGH: 'message' })).toBe('501 false');
    expect(await isOpen({ CACHE_OPERATIONS: 'all', PASSTHROUGH: 'message,RUNGETMETHOD' })).toBe('200 true');
    expect(await isOpen({ CACHE_OPERATIONS: 'all,runGetMethod', PASSTHROUGH: 'message' })).toBe('200 true');
    expect(await isOpen({ CACHE_OPERATIONS: 'all' })).toBe('200 true');
    expect(await isOpen({ CACHE_OPERATIONS: 'blocks', PASSTHROUGH: 'on' })).toBe('200 false');
    await start();
  });

  it.each([500, 501])('has an error %s of the API as its answer, kept for nobody', async (status) => {
    await start();
    const error = { error: 'LITE_SERVER_NOTREADY: ltdb: block not found' };
    const fault = indexer.faults.inject(failed(status, 'json', undefined, error), { operation: 'runGetMethod' });
    for (let n = 0; n < 12; n++) {
      const { status: given, text } = await post(data());
      expect({ given, text }).toEqual({ given: status, text: JSON.stringify(error) });
    }
    expect(sent()).toHaveLength(12);
    fault.remove();
    expect((await post(data())).status).toBe(200);
  });

  it.each([
    [
      'an API without its other server',
      failed(500, 'json', undefined, { error: 'ton-http-api endpoint is not specified' }),
      501,
    ],
    ['an error of another server', failed(500, 'text'), 500],
  ])('counts %s', async (_, fault, status) => {
    await start();
    indexer.faults.inject(fault, { operation: 'runGetMethod' });
    for (let n = 0; n < 60; n++)
      expect((await post(data(master().address, { method: `m${n}` }))).status).toBeOneOf([status, 502, 503]);
    expect(sent().length).toBeLessThan(60);
  });
});

describe.each([1, 2])('a client that sends 50 broken get-methods a second, in front of %i indexers,', (count) => {
  it('stops nobody else, and the page says OK', async () => {
    const second = await startIndexer({ chain: new Chain({ startAt: Date.now() - 30_000 }) });
    try {
      const upstreamUrl = [indexer.url, second.url].slice(0, count).join();
      proxy = await startProxy({ upstreamUrl, env: { CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH: 'on' } });
      const { address } = indexer.chain.accounts.elector;
      const broken = (n: number) => [
        data(address, { method: 'get_continuation', stack: [{ type: 'num', value: n }] }),
        data(address, { method: `x${n}`, stack: [{ type: 'unknown', value: String(n) }] }),
        data('', { method: `x${n}` }),
        data(address, { method: '', stack: [{ type: 'num', value: n }] }),
        data(`nonsense ${n}`),
      ];
      for (let n = 0; n < 20; n++) {
        const statuses = await Promise.all(broken(n).map(async (body) => (await post(body)).status));
        expect(statuses).toEqual([501, 500, 401, 401, 500]);
        const others = await Promise.all([
          post(data(address, { method: 'get_available_balance' })),
          proxy.reply(`/api/v3/addressInformation?address=${address}`),
          post(data(address, { stack: [{ type: 'tuple', value: [] }] })),
        ]);
        expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
      }
      const { conditions } = JSON.parse((await proxy.askAdmin('/status.json')).text);
      // Passed-through requests leave a note about the last error of an indexer.
      const levels = conditions.map(({ level }: { readonly level: string }) => level);
      expect(levels.filter((level: string) => level !== 'note')).toEqual([]);
    } finally {
      await second.close();
    }
  });
});
