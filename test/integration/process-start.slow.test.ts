import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../support/http-client.ts';
import { ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import { selfSignedCertificate } from '../support/self-signed-certificate.ts';
import { ProcessWorld, TARGET } from './process-world.ts';

const BODY = '{"transactions":[]}';
let world: ProcessWorld;

beforeAll(async () => {
  world = await ProcessWorld.start();
});

afterAll(() => world[Symbol.asyncDispose]());

describe('a start', () => {
  it('warns when Redis is used and NETWORK is not set', async () => {
    const warned = async (environment: Record<string, string>) => {
      await using started = await ProxyProcess.start({ UPSTREAM_URL: world.indexer.url, ...environment });
      // Of the settings: that the indexer follows another chain is an error.
      return started.log.filter(({ level }) => level === 40).map(({ msg }) => msg);
    };
    const file = world.file('network.json');
    await writeFile(file, '{"network":"testnet"}');
    await using redis = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
    const REDIS_URL = redis.url;
    expect(await warned({ REDIS_URL })).toEqual([expect.stringContaining('NETWORK')]);
    expect(await warned({ REDIS_URL, NETWORK: 'testnet' })).toEqual([]);
    expect(await warned({ REDIS_URL, CONFIG_FILE: file })).toEqual([]);
  });
});

describe('an indexer behind TLS', () => {
  it('is trusted when its certificate is signed by a trusted authority and has its name', async () => {
    const certificate = selfSignedCertificate('indexer.example', '127.0.0.1');
    const file = world.file('ca.pem');
    await writeFile(file, certificate.cert);
    const server = createSecureServer(certificate, (_, response) => response.end(BODY));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const answerOf = async (environment: Record<string, string>) => {
      await using started = await ProxyProcess.start(environment);
      const { status, text } = await ask(started.url, TARGET);
      return [status, text];
    };
    const refused = [502, '{"error":"the indexer cannot be reached"}'];
    const trusted = { NODE_EXTRA_CA_CERTS: file };
    expect(await answerOf({ UPSTREAM_URL: `https://127.0.0.1:${port}`, ...trusted })).toEqual([200, BODY]);
    expect(await answerOf({ UPSTREAM_URL: `https://127.0.0.1:${port}` })).toEqual(refused);
    expect(await answerOf({ UPSTREAM_URL: `https://localhost:${port}`, ...trusted })).toEqual(refused);
    server.close();
  });
});
