import { expect, it } from 'vitest';
import { pathAt } from '../../src/indexer/path-at.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startProxy } from '../support/start-proxy.ts';

it.each([
  ['', '/api/v3', ''],
  ['/api/v3/', '/api/v3', ''],
  ['/ton/mainnet', '/ton/mainnet/api/v3', '/ton/mainnet'],
  ['/toncenter/v3', '/toncenter/v3', ''],
  ['/toncenter/v3/', '/toncenter/v3', ''],
  ['/v3', '/v3', ''],
])('an indexer at %j gets /api/v3/ at %s and the rest below %j/api/', async (path, v3, rest) => {
  await using upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  const env = { PASSTHROUGH: 'on', PASSTHROUGH_PREFIXES: '/api/v3/,/api/v2/' };
  await using proxy = await startProxy({ upstreamUrl: upstream.url + path, env });
  const operation = '/api/v3/masterchainBlockShards?seqno=7';
  const targets = [operation, '/api/v3/jetton/wallets?limit=1', '/api/v2/getMasterchainInfo', '/api/streaming/v2/sse'];
  for (const target of targets) expect((await proxy.ask(target)).status, target).toBe(200);
  const asked = upstream.heads.map((head) => head.split(' ')[1] ?? '');
  const expected = [operation.replace('/api/v3', v3), `${v3}/jetton/wallets?limit=1`];
  expect(asked).toEqual(
    expect.arrayContaining([...expected, `${rest}/api/v2/getMasterchainInfo`, `${rest}/api/streaming/v2/sse`]),
  );
  expect(asked.some((target) => target.includes('/v3/api/'))).toBe(false);
});

it('an indexer at /mirror/v3/api/v3 gets /api/v3/ there', async () => {
  await using upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  await using proxy = await startProxy({ upstreamUrl: `${upstream.url}/mirror/v3/api/v3` });
  expect((await proxy.ask('/api/v3/masterchainBlockShards?seqno=7')).status).toBe(200);
  const asked = upstream.heads.map((head) => head.split(' ')[1] ?? '');
  expect(asked).toContain('/mirror/v3/api/v3/masterchainBlockShards?seqno=7');
});

it.each([
  ['/a/v3', '/api/v3', '/a/v3'],
  ['/a/v3', '/API/V3/blocks?seqno=1', '/a/v3/blocks?seqno=1'],
  ['/a/v3', '/api/v33/blocks', '/api/v33/blocks'],
  ['/a/v33', '/api/v3/blocks', '/a/v33/api/v3/blocks'],
])('below %s the target %s is %s', (base, target, path) => {
  expect(pathAt(base, target)).toBe(path);
});
