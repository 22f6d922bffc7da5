import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { asAdmin } from '../support/as-admin.ts';
import { someChildren } from '../support/fleet.ts';
import { freePort } from '../support/free-port.ts';
import { answeringJson, children } from '../support/json-upstream.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { someNetwork } from '../support/some-network.ts';
import { type RunningProxy, startProxy } from '../support/start-proxy.ts';

const reasonsIn = ({ log }: RunningProxy) =>
  log.map(({ msg }) => msg).filter((msg) => msg.includes('Redis is unreachable'));

const whyOf = async (proxy: RunningProxy) => JSON.parse((await proxy.askAdmin('/status.json')).text).says as string;

/** A proxy with this Redis, in front of a healthy indexer. */
async function start(redisUrl: string) {
  const upstream = await startScriptedUpstream(answeringJson(() => children('a')));
  const env = { REDIS_URL: redisUrl, NETWORK: someNetwork() };
  const proxy = await startProxy({ upstreamUrl: upstream.url, env, overrides: { redis: { openDuration: 200 } } });
  return {
    proxy,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** Sends requests until page and log report this reason. */
async function untilTold(proxy: RunningProxy, reason: RegExp) {
  const told = async () => {
    expect((await proxy.ask(someChildren())).status).toBe(200);
    return whyOf(proxy);
  };
  await expect.poll(told, { interval: 100 }).toMatch(reason);
  await expect.poll(() => reasonsIn(proxy).join()).toMatch(reason);
}

const killClients = (redis: RedisServer, password: string) =>
  asAdmin(redis, async (admin) => {
    if (password !== '') await admin.auth(password);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  });

describe('log and status page show the best of the reasons for an outage of Redis', () => {
  it.each<[string, string, RegExp, (redis: RedisServer) => Promise<unknown>]>([
    [
      'a password that was changed',
      '',
      /NOAUTH|WRONGPASS/,
      async (redis) => {
        await asAdmin(redis, async (admin) => {
          await admin.config('SET', 'requirepass', 'new');
          await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        });
      },
    ],
    [
      'a user that was deleted',
      'cache:secret@',
      /WRONGPASS/,
      async (redis) => {
        await asAdmin(redis, (admin) => admin.acl('DELUSER', 'cache'));
        await killClients(redis, '');
      },
    ],
    ['a server that was stopped', '', /ECONNREFUSED/, (redis) => redis.kill()],
    [
      'a server that takes no writes',
      '',
      /READONLY/,
      (redis) => asAdmin(redis, (admin) => admin.replicaof('127.0.0.1', 1)),
    ],
  ])('%s', async (_, login, reason, fail) => {
    await using redis = await startRedis();
    await asAdmin(redis, (admin) => admin.acl('SETUSER', 'cache', 'ON', '>secret', '~*', '+@all'));
    await using world = await start(redis.url.replace('//', `//${login}`));
    const used = async () => JSON.parse((await world.proxy.askAdmin('/status.json')).text).redis;
    await expect.poll(used).toBe('used');
    await fail(redis);
    await untilTold(world.proxy, reason);
    expect(reasonsIn(world.proxy).join()).not.toContain('secret');
  });

  it('the error of the server, while the connection is opened again', async () => {
    await using redis = await startRedis();
    await using world = await start(redis.url);
    await asAdmin(redis, (admin) => admin.replicaof('127.0.0.1', 1));
    await untilTold(world.proxy, /READONLY/);
    await killClients(redis, '');
    await expect
      .poll(() => world.proxy.log.filter(({ msg }) => msg === 'connected to Redis').length)
      .toBeGreaterThan(1);
    expect(await whyOf(world.proxy)).toContain('READONLY');
  });

  it.each<[string, RegExp, (socket: Socket) => void]>([
    [
      'a server in protected mode',
      /DENIED Redis is running in protected/,
      (socket) =>
        socket.end(
          '-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.\r\n',
        ),
    ],
    [
      'a server that loads its data',
      /LOADING/,
      (socket) =>
        socket.on('data', (bytes) => {
          for (const [, name] of String(bytes).matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)/gm)) {
            const info = 'redis_version:7.0.0\r\nloading:1\r\nloading_eta_seconds:60\r\n';
            if (name === 'info') socket.write(`$${info.length}\r\n${info}\r\n`);
            else socket.write(name === 'hello' ? '-NOPROTO unsupported protocol version\r\n' : '+OK\r\n');
          }
        }),
    ],
  ])('%s, and nothing is written to the console', async (_, reason, serve) => {
    const warn = vi.spyOn(console, 'warn');
    const server = createServer((socket) => serve(socket.on('error', () => {})));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await using world = await start(`redis://default:pw@127.0.0.1:${(server.address() as AddressInfo).port}`);
    await untilTold(world.proxy, reason);
    expect(warn).not.toHaveBeenCalled();
    server.close();
  });

  it('a Cluster that announces unreachable addresses', async () => {
    const port = await freePort();
    const args = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--cluster-announce-port', '1'];
    await using redis = await startRedis({ port, args: [...args, '--cluster-port', String(await freePort())] });
    await asAdmin(redis, (admin) => admin.cluster('ADDSLOTSRANGE', 0, 16383));
    await using world = await start(redis.url.replace('redis:', 'redis-cluster:'));
    await untilTold(world.proxy, /ECONNREFUSED/);
    const reasons = world.proxy.log.map((line) => ('reason' in line ? line.reason : ''));
    expect(reasons).toContainEqual(expect.stringMatching(/ECONNREFUSED 127\.0\.0\.1:1\b/));
  });
});
