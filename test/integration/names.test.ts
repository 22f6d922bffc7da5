import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import { Names } from '../../src/names/names.ts';
import { asAdmin } from '../support/as-admin.ts';
import { observedConnection, putBytes } from '../support/connected-redis.ts';
import { FakeResolver } from '../support/fake-resolver.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinels } from '../support/redis-sentinels.ts';
import { startRedis } from '../support/redis-server.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { answers, BODY, clientOf } from './scripted-client.ts';

const HERE = ['127.0.0.1'];
/** An address without a listener. */
const NOBODY = ['127.0.0.2'];

const namesOf = (resolver: FakeResolver) => new Names(resolver.ask, performance.now.bind(performance));

describe('an indexer that is configured by name', () => {
  it('is found by one look-up for all its connections', async () => {
    await using upstream = await startScriptedUpstream(answers);
    const resolver = new FakeResolver({ 'indexer.test': HERE });
    await using client = clientOf(`http://indexer.test:${upstream.port}`, { names: namesOf(resolver) });
    const fetched = await Promise.all(Array.from({ length: 8 }, () => client.fetch()));
    expect(fetched.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(upstream.connections).toBe(8);
    expect(resolver.asked).toEqual(['indexer.test']);
  });

  it('answers every one of many concurrent requests after its address has changed', async () => {
    await using upstream = await startScriptedUpstream(answers);
    const resolver = new FakeResolver({ 'indexer.test': NOBODY });
    const names = namesOf(resolver);
    await names.find('indexer.test');
    resolver.say('indexer.test', HERE);
    await using client = clientOf(`http://indexer.test:${upstream.port}`, { names });
    const fetched = await Promise.all(Array.from({ length: 8 }, () => client.fetch()));
    expect(fetched.map(({ status }) => status)).toEqual(Array(8).fill(200));
  });

  it('is used over TLS if its certificate has the name; otherwise its address is forgotten', async () => {
    const certificate = selfSignedCertificate('indexer.test', '127.0.0.2');
    const server = createServer(certificate, (_, response) => response.end(BODY));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, certificate.cert]);
    try {
      const resolver = new FakeResolver({ 'indexer.test': HERE, 'other.test': HERE });
      const names = namesOf(resolver);
      await using client = clientOf(`https://indexer.test:${port}`, { names });
      for (let time = 0; time < 2; time++) expect(String((await client.fetch()).body)).toBe(BODY);
      await using other = clientOf(`https://other.test:${port}`, { names });
      for (let time = 0; time < 2; time++) {
        await expect(other.fetch()).rejects.toMatchObject({ code: 'upstream-unreachable' });
      }
      // After each failure it is looked up again.
      expect(resolver.asked).toEqual(['indexer.test', ...Array(3).fill('other.test')]);
    } finally {
      setDefaultCACertificates(trusted);
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('Redis that is configured by name', () => {
  it('is looked up only once while the resolver hangs, and is connected to when the resolver answers', async () => {
    await using server = await startRedis();
    const resolver = new FakeResolver({ 'redis.test': 'silent' });
    const url = server.url.replace('127.0.0.1', 'redis.test');
    const names = namesOf(resolver);
    const lookups = vi.spyOn(names, 'lookup');
    await using redis = await observedConnection(url, { names, connectTimeoutMs: 20 });
    await expect.poll(() => lookups.mock.calls.length).toBeGreaterThan(3);
    expect(resolver.asked).toEqual(['redis.test']);
    resolver.say('redis.test', HERE);
    await expect.poll(() => redis.transitions.map(({ state }) => state)).toEqual(['disconnected', 'connected']);
  });

  it('is looked up again when the connection is lost, and its last address is used while the resolver is slow', async () => {
    await using server = await startRedis();
    const resolver = new FakeResolver({ 'redis.test': HERE });
    const url = server.url.replace('127.0.0.1', 'redis.test');
    await using redis = await observedConnection(url, { names: namesOf(resolver) });
    const states = () => redis.transitions.map(({ state }) => state);
    resolver.say('redis.test', 'silent');
    await asAdmin(server, (admin) => admin.call('client', 'kill', 'type', 'normal', 'skipme', 'yes'));
    await expect.poll(states).toEqual(['connected', 'disconnected', 'connected']);
    expect(resolver.asked).toEqual(['redis.test', 'redis.test']);
  });

  it('is used over TLS if its certificate has the name; otherwise it is looked up for each connection', async () => {
    const certificate = selfSignedCertificate('redis.test', '127.0.0.2');
    await using server = await startRedis({ certificate });
    const resolver = new FakeResolver({ 'redis.test': HERE, 'other.test': HERE });
    const connect = (host: string) => {
      const url = server.url.replace('127.0.0.1', host);
      return observedConnection(url, { names: namesOf(resolver), tlsCa: certificate.cert });
    };
    await using redis = await connect('redis.test');
    expect(redis.transitions).toEqual([{ state: 'connected' }]);
    await using other = await connect('other.test');
    expect(other.transitions).toMatchObject([{ state: 'disconnected' }]);
    await expect.poll(() => resolver.asked.filter((host) => host === 'other.test').length).toBeGreaterThan(2);
  });

  it('is found in a Cluster whose nodes are known by their names', async () => {
    const args = ['--cluster-announce-hostname', 'node.test', '--cluster-preferred-endpoint-type', 'hostname'];
    await using cluster = await startRedisCluster({ masters: 3, args });
    const resolver = new FakeResolver({ 'cluster.test': HERE, 'node.test': HERE });
    const url = cluster.url.replaceAll('127.0.0.1', 'cluster.test');
    await using redis = await observedConnection(url, { names: namesOf(resolver) });
    expect(redis.transitions).toEqual([{ state: 'connected' }]);
    const keys = Array.from({ length: 60 }, (_, index) => `toncache:{${index}}`);
    await Promise.all(keys.map((key) => putBytes(redis, key, Buffer.from('x'))));
    expect(resolver.asked.toSorted()).toEqual(['cluster.test', 'node.test']);
  });

  it('is found behind sentinels, which have names and know the primary by its name', async () => {
    await using sentinels = await startRedisSentinels({ host: 'localhost' });
    const resolver = new FakeResolver({ 'sentinel.test': HERE });
    const url = sentinels.url.replaceAll('127.0.0.1', 'sentinel.test');
    await using redis = await observedConnection(url, { names: namesOf(resolver) });
    expect(redis.transitions).toEqual([{ state: 'connected' }]);
    await putBytes(redis, 'key', Buffer.from('value'));
    expect(resolver.asked).toEqual(['sentinel.test']);
  });
});
