import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failed } from '../../src/tools/simulator/faults.ts';
import { type CommandOptions, runCommand } from '../support/command-output.ts';
import { startRedis } from '../support/redis-server.ts';
import { startProxy } from '../support/start-proxy.ts';
import { newestBlock, unknownTransaction } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

let world: World;
let env: Record<string, string>;

beforeEach(async () => {
  world = await World.start(ANY_WORLD);
  env = { PORT: new URL(world.proxy.url).port, ADMIN_PORT: new URL(world.proxy.adminUrl).port };
});
afterEach(() => world[Symbol.asyncDispose]());

const toncache = (args: readonly string[], options: CommandOptions = {}) => runCommand(args, { env, ...options });

describe('toncache explain', () => {
  it('shows the explanation of a running instance as text and as JSON', async () => {
    await world.ask(newestBlock(world));
    const { code, stdout } = await toncache(['explain', `https://ton.example${newestBlock(world)}&_=1`]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^on a miss +127\.0\.0\.1:\d+ may get it$/m);
    expect(stdout).toMatch(/^key +\S.* masterchainBlockShards\?seqno=\d+$/m);
    expect(stdout).toMatch(/^ignored +_=1 \(the operation does not read it\)$/m);
    expect(stdout).toMatch(/^now +toncache; hit; ttl=\d+; detail=memory$/m);
    expect(stdout).toMatch(/^memory +final, fresh for 2[0-4](\.\d)? h, requested 0 ms ago, status 200, \d+ bytes$/m);
    expect(stdout).toMatch(/^ +shardsFinal +24 h +10 min +24 h$/m);
    const json = await toncache(['explain', '--json', newestBlock(world)]);
    expect(JSON.parse(json.stdout)).toMatchObject({ memory: { state: 'fresh' } });
  });

  it('sends the given headers, and exits 1 with the error of a request that would be refused', async () => {
    const sent = await toncache(['explain', newestBlock(world), '--header', 'X-Timeout: 3']);
    expect(sent.stdout).toMatch(/^ignored +x-timeout: 3 \(/m);
    const { code, stdout, stderr } = await toncache(['explain', 'masterchainBlockShards?seqno=x']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^the request would be refused: seqno is not valid; accepted: /);
  });

  it('exits 1 with the reason for a request without a cached form', async () => {
    const proxy = await world.addProxy({ env: { CACHE_OPERATIONS: 'blocks' } });
    const { code, stdout, stderr } = await toncache(['explain', 'blocks?limit=10', '--admin', proxy.adminUrl]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^nothing is cached for it: /);
  });

  it('shows that a request is passed through, and exits 1', async () => {
    const proxy = await world.addProxy({ env: { CACHE_OPERATIONS: 'blocks', PASSTHROUGH: 'on' } });
    const { host } = new URL(world.indexer.url);
    const explained = (target: string, ...more: string[]) =>
      toncache(['explain', target, '--admin', proxy.adminUrl, ...more]);
    expect(await explained('jetton/wallets?limit=1')).toEqual({
      code: 1,
      stdout: `not cached: passed through\nupstream   /api/v3/jetton/wallets?limit=1\non a miss  ${host} may get it\n`,
      stderr: '',
    });
    const formless = await explained('blocks?limit=0');
    expect([formless.code, formless.stdout]).toEqual([
      1,
      expect.stringMatching(/^not cached: passed through \(blocks is not cached in this form: limit .*\)\n/),
    ]);
    const json = await explained('jetton/wallets', '--json');
    expect([json.code, JSON.parse(json.stdout)]).toEqual([1, expect.objectContaining({ notCached: 'passed through' })]);
  });
});

describe('toncache status', () => {
  it('shows the first line, the conditions and the indexers, and exits with the level', async () => {
    const { host } = new URL(world.indexer.url);
    const well = await toncache(['status']);
    expect([well.code, well.stderr]).toEqual([0, '']);
    expect(well.stdout).toMatch(
      /^OK: serving as usual\n0\.1\.0 on \S+, \S+, up .*; saved 0 of 0 requests in the last \S+ s\n/,
    );
    const lines = well.stdout.split('\n');
    expect(lines[2]).toMatch(new RegExp(`^${host} {2}idle.*, 0\\.0 requests/s, 0\\.0 failed/s$`));
    const degraded = await world.addProxy({ env: { REDIS_URL: 'redis://127.0.0.1:1' } });
    await expect.poll(async () => (await toncache(['status', degraded.adminUrl])).code).toBe(1);
    const { stdout } = await toncache(['status', degraded.adminUrl]);
    expect(stdout).toMatch(/^DEGRADED for .*\nDEGRADED for .*: .*Redis.*\n0\.1\.0 on /s);
    world.indexer.faults.inject(failed(500));
    const failing = async () => {
      await Promise.all([1, 2, 3, 4].map(() => world.ask(unknownTransaction())));
      return (await toncache(['status'])).code;
    };
    await expect.poll(failing).toBe(2);
  });

  it('prints /status.json with --json, with the same exit code', async () => {
    const { code, stdout } = await toncache(['status', world.proxy.adminUrl, '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ level: 'OK', upstreams: expect.any(Array) }),
    ]);
  });

  it('exits 69 without a response, and 64 for an invalid address', async () => {
    const nobody = await toncache(['status', 'http://127.0.0.1:9']);
    expect([nobody.code, nobody.stdout]).toEqual([69, '']);
    expect(nobody.stderr).toMatch(/^no toncache answers at http:\/\/127\.0\.0\.1:9 .* name its admin port by URL$/m);
    const wrong = await toncache(['status', 'ftp://x/y']);
    expect([wrong.code, wrong.stderr.split('\n')[0]]).toEqual([
      64,
      expect.stringMatching(/^URL is not valid; accepted: /),
    ]);
  });
});

it('commands connect to ports that browsers refuse, too', async () => {
  await using blocked = await startProxy({ upstreamUrl: world.indexer.url, env: { ADMIN_PORT: '10080' } });
  expect((await toncache(['purge', '--all', '--admin', blocked.adminUrl])).code).toBe(0);
});

describe('an address of another program', () => {
  it.each([
    [['explain', 'x'], 501],
    [['purge', '--all'], 501],
    [['status', 'URL'], 200],
    [['purge', '--all'], 200],
  ])('makes %j exit 69 if it answers %i', async (args, status) => {
    const other = createServer((_, response) => void response.writeHead(status).end('<h1>Not for you</h1>'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, stdout, stderr } = await toncache(
      args[1] === 'URL' ? [args[0] ?? '', url] : [...args, '--admin', url],
    );
    other.close();
    expect([code, stdout]).toEqual([69, '']);
    expect(stderr).toContain('this is not the admin port of toncache');
  });
});

describe('npm run simulator', () => {
  /** The answer of the simulated indexer at this host, and the output of the command. */
  async function simulated(args: readonly string[], host: string): Promise<[status: number | string, said: string]> {
    const stopping = new AbortController();
    const { promise: listening, resolve } = Promise.withResolvers<string>();
    const ended = toncache(['simulator', '--port', '0', ...args], { signal: stopping.signal, onOutput: resolve });
    const said = await Promise.race([listening, ended.then(({ stderr }) => stderr)]);
    const port = /:(\d+)/.exec(said)?.[1];
    const status = await fetch(`http://${host}:${port}/api/v3/masterchainInfo`).then(
      (answer) => answer.status,
      () => 'refused',
    );
    stopping.abort();
    await ended;
    return [status, said.trim()];
  }

  it('listens on loopback by default, and on --host, which containers need', async () => {
    const address = expect.stringMatching(/^a simulated indexer listens on http:\/\/127\.0\.0\.1:\d+$/);
    expect(await simulated([], '127.0.0.1')).toEqual([200, address]);
    expect(await simulated([], '127.0.0.2')).toEqual(['refused', address]);
    const open = expect.stringMatching(
      /^a simulated indexer listens on http:\/\/127\.0\.0\.1:\d+ \(--host 0\.0\.0\.0\)$/,
    );
    expect(await simulated(['--host', '0.0.0.0'], '127.0.0.2')).toEqual([200, open]);
  });

  it('refuses an invalid host, and one that it cannot listen on', async () => {
    expect(await toncache(['simulator', '--host', 'a b'])).toMatchObject({
      code: 64,
      stderr: expect.stringMatching(/^--host must be an IP address or a host name$/m),
    });
    expect(await toncache(['simulator', '--port', '0', '--host', '203.0.113.1'])).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(/^port 0 of 203\.0\.113\.1 cannot be listened on: /),
    });
  });
});

describe('toncache purge', () => {
  it('purges the running instance, and prints the purged value and the number of instances', async () => {
    await world.ask(newestBlock(world));
    const seqno = new URLSearchParams(newestBlock(world).split('?')[1]).get('seqno') ?? '';
    const { code, stdout } = await toncache(['purge', '--seqno', seqno]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(RegExp(`^purged seqno ${seqno} in 1 instance: all responses requested before 2`)),
    ]);
    expect((await world.ask(newestBlock(world))).cache).toMatchObject({ fwd: 'miss' });
  });

  it('prints the number of instances on one Redis', async () => {
    await using redis = await startRedis();
    const shared = { upstreamUrl: world.indexer.url, env: { REDIS_URL: redis.url } };
    await using one = await startProxy(shared);
    await using other = await startProxy(shared);
    // For reads, which need all purges, and for writes.
    const isUsed = async (each: typeof one) => JSON.parse((await each.askAdmin('/status.json')).text).redis;
    for (const each of [one, other]) await expect.poll(() => isUsed(each)).toBe('used');
    const purged = await toncache(['purge', '--all', '--admin', one.adminUrl]);
    expect(purged).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^purged everything in 2 instances: all /),
    });
    // A command is not an instance.
    await toncache(['check-config', '--connect'], { env: { UPSTREAM_URL: world.indexer.url, REDIS_URL: redis.url } });
    const { stdout } = await toncache(['purge', '--seqno', '7', '--json', '--admin', other.adminUrl]);
    expect(JSON.parse(stdout)).toMatchObject({ purged: { seqno: 7 }, instances: 2 });
  });

  it('sends ADMIN_TOKEN; without it, exits 69 and names the setting', async () => {
    await using guarded = await startProxy({ upstreamUrl: world.indexer.url, env: { ADMIN_TOKEN: 'correct' } });
    const admin = ['purge', '--all', '--admin', guarded.adminUrl];
    expect(await toncache(admin)).toMatchObject({ code: 69, stderr: expect.stringContaining('ADMIN_TOKEN') });
    expect((await toncache(admin, { env: { ADMIN_TOKEN: 'correct' } })).code).toBe(0);
    expect((await toncache([...admin, '--json'], { env: { ADMIN_TOKEN: 'correct' } })).stdout).toMatch(/^\{"purged":/);
  });
});

describe('toncache simulator', () => {
  it('answers like an indexer with the given fault until it is stopped', async () => {
    const ending = new AbortController();
    const listening = Promise.withResolvers<string>();
    const ended = toncache(['simulator', '--port', '0', '--fault', '429'], {
      signal: ending.signal,
      onOutput: (text) => listening.resolve(/listens on (\S+)/.exec(text)?.[1] ?? ''),
    });
    const response = await fetch(`${await listening.promise}/api/v3/masterchainBlockShards?seqno=1`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1']);
    ending.abort();
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });
});
