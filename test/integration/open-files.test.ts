import { spawnSync } from 'node:child_process';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startIndexer } from '../../src/tools/simulator/indexer.ts';
import { answerTo, ask, connectTo } from '../support/http-client.ts';
import { COMMAND_OF_DEV, ProxyProcess } from '../support/proxy-process.ts';
import { ProcessWorld } from './process-world.ts';

const HAS_LIMITS = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

let world: ProcessWorld;
let idle: Socket[];
/** One client, whose connection stays open. */
let client: Agent;
let hashes: number;

beforeEach(async () => {
  world = await ProcessWorld.start();
  idle = [];
  client = new Agent({ keepAlive: true, maxSockets: 1 });
  hashes = 0;
});

afterEach(async () => {
  for (const socket of idle) socket.destroy();
  client.destroy();
  await world[Symbol.asyncDispose]();
});

const startWith = (openFiles?: number) =>
  ProxyProcess.start({ UPSTREAM_URL: world.indexer.url, NETWORK: 'mainnet' }, undefined, {
    ...COMMAND_OF_DEV,
    ...(openFiles !== undefined && { openFiles }),
  });

function limit({ pid }: ProxyProcess, openFiles: number): void {
  const { status } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${openFiles}:`]);
  expect(status).toBe(0);
}

/** The answer to a request that no cache can answer. */
function miss({ url }: ProxyProcess) {
  hashes++;
  const path = `/api/v3/adjacentTransactions?hash=${hashes.toString(16).padStart(64, '0')}`;
  const sending = request(`${url}${path}`, { agent: client });
  sending.end();
  return answerTo(sending);
}

const statusesOf = async (proxy: ProxyProcess, count: number) => {
  const statuses = new Set<number>();
  for (let time = 0; time < count; time++) statuses.add((await miss(proxy)).status);
  return [...statuses];
};

/** Connects clients that send nothing, until no more are accepted. */
async function fillWithIdleClients(proxy: ProxyProcess, count: number): Promise<void> {
  for (let index = 0; index < count; index++) idle.push(connectTo(proxy.url));
  await expect.poll(() => proxy.metric('condition', { name: 'connections-refused' })).toBeGreaterThan(0);
}

describe.runIf(HAS_LIMITS)('a process that may open few files', () => {
  it('answers misses and admin requests while idle clients hold as many connections as they may', async () => {
    await using proxy = await startWith(200);
    await proxy.untilLogged('the limit of open files (200) has room for 64 connections of clients');
    expect((await miss(proxy)).status).toBe(404);
    await fillWithIdleClients(proxy, 300);
    expect(await statusesOf(proxy, 30)).toEqual([404]);
    expect((await ask(proxy.adminUrl, '/healthz')).status).toBe(200);
    expect(await proxy.metric('breakersOpen')).toBe(0);
  });

  it('keeps running and blames no indexer while it cannot open a connection, and uses it once it can', async () => {
    await using proxy = await startWith();
    expect((await miss(proxy)).status).toBe(404);
    const { port } = world.indexer;
    await world.indexer.close();
    const again = await startIndexer({ port });
    limit(proxy, 5);
    expect(await statusesOf(proxy, 60)).toEqual([503]);
    const { headers, text } = await miss(proxy);
    expect(JSON.parse(text)).toEqual({ error: 'the proxy is overloaded: it can open no more connections' });
    expect(headers).toMatchObject({ 'retry-after': expect.stringMatching(/^[1-3]$/) });
    for (let index = 0; index < 20; index++) idle.push(connectTo(proxy.url), connectTo(proxy.adminUrl));
    await proxy.untilLogged('can open no more connections');
    expect(await statusesOf(proxy, 5)).toEqual([503]);

    limit(proxy, 1000);
    expect(await statusesOf(proxy, 5)).toEqual([404]);
    expect(await proxy.metric('breakersOpen')).toBe(0);
    expect(await proxy.metric('condition', { name: 'silent' })).toBe(0);
    expect(await proxy.metric('loadsRefused', { reason: 'sockets' })).toBe(66);
    expect(await proxy.metric('upstreamRequests', { result: 'upstream-unreachable' })).toBe(0);
    await again.close();
  });
});
