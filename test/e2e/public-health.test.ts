import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nothingPending } from './questions.ts';
import { head, statuses } from './raw-requests.ts';
import { ANY_WORLD, World } from './world.ts';

/** The checks of load balancers: GKE and ALB use GET, HAProxy OPTIONS in HTTP/1.0 without Host, others HEAD. */
const CHECKS = ['/healthz', '/readyz', '/readyz?x=1'].flatMap((target) =>
  ['GET', 'HEAD', 'OPTIONS'].flatMap((method) => [
    `${method} ${target} HTTP/1.0\r\n\r\n`,
    `${method} ${target} HTTP/1.1\r\nHost: 10.0.0.7:8080\r\nConnection: close\r\n\r\n`,
    `${method} http://x${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  ]),
);

describe('the health of an instance on the public port', () => {
  let world: World;
  afterEach(() => world[Symbol.asyncDispose]());

  describe('with a limit of one request for each client', () => {
    beforeEach(async () => {
      const overrides = { clients: { requestsPerSecond: 1 } };
      const env = { LOG_REQUESTS: 'all', PASSTHROUGH: 'on' };
      world = await World.start({ ...ANY_WORLD, proxy: { env, overrides, stopsTime: true } });
    });

    it('is 200 for every check, and not cacheable', async () => {
      for (const check of CHECKS) {
        const answer = await world.proxy.exchange(check);
        expect(statuses(answer)).toEqual(['200']);
        expect(answer).toMatch(/cache-control: no-store/i);
      }
      expect(JSON.parse((await world.ask('/healthz')).text)).toEqual({ status: 'ok' });
      expect(JSON.parse((await world.ask('/readyz')).text)).toEqual({ status: 'ready' });
    });

    it('does not count against the limit, and is neither counted nor logged as a request', async () => {
      const page = async () =>
        (await world.proxy.askAdmin('/metrics')).text
          .split('\n')
          .filter((line) => /^toncache_\w*(requests|refused|failures)_total/.test(line));
      const before = { metrics: await page(), lines: world.proxy.log.length };
      for (const check of CHECKS) await world.proxy.exchange(check);
      expect({ metrics: await page(), lines: world.proxy.log.length }).toEqual(before);
      expect(world.indexer.requests.recent).toEqual([]);
      for (let times = 0; times < 10; times++) expect((await world.ask(nothingPending())).status).toBe(200);
      expect((await world.ask(nothingPending())).status).toBe(429);
      expect((await world.ask('/readyz')).status).toBe(200);
    });
  });

  it('is answered between the requests of a connection, in their order', async () => {
    world = await World.start(ANY_WORLD);
    const got = await world.proxy.exchange(
      `GET ${nothingPending()} HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n${head(`GET ${nothingPending()}`)}`,
    );
    expect(statuses(got)).toEqual(['200', '200', '200']);
    expect(got.match(/"status":"ready"/g)).toHaveLength(1);
  });

  it('accepts no method that changes something', async () => {
    world = await World.start(ANY_WORLD);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers } = await world.ask('/healthz', { method });
      expect([status, headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });
});
