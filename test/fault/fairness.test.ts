import { request } from 'node:http';
import { expect, it } from 'vitest';
import { unknownTransaction } from '../e2e/questions.ts';
import { startFaultyWorld } from './faulty-world.ts';

/** Asks from another address of this machine; the status. */
function askFrom(address: string, origin: string, target: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(target, origin), { localAddress: address, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });
}

it('a client with one waiting request is served before the second one of a client with thirty', async () => {
  await using world = await startFaultyWorld({ overrides: { upstream: { maxConcurrency: 1 }, http: { drain: 100 } } });
  const queued = (count: number) =>
    expect.poll(() => world.proxy.metric('toncache_upstream_queued'), { interval: 5 }).toBe(count);
  const gate = world.indexer.hold();
  const [greedy, polite] = [Array.from({ length: 30 }, () => unknownTransaction()), unknownTransaction()];
  const ask = (address: string, target: string) => askFrom(address, world.proxy.url, target);
  const all = [ask('127.0.0.2', unknownTransaction())];
  await gate.arrived(1);
  for (const [index, target] of greedy.entries()) {
    all.push(ask('127.0.0.2', target));
    await queued(index + 1);
  }
  all.push(ask('127.0.0.3', polite));
  await queued(31);
  all.push(ask('127.0.0.4', greedy.at(-1) ?? ''));
  await expect.poll(() => world.proxy.metric('toncache_requests_in_flight')).toBe(33);
  gate.release();
  await Promise.all(all);
  // The last of the greedy client's requests is another client's too.
  const hashOf = (target = '') => new URLSearchParams(target.split('?')[1]).get('hash');
  const sent = world.forwarded.map(({ target }) => hashOf(target));
  expect(sent.slice(1, 5)).toEqual([greedy[0], polite, greedy[29], greedy[1]].map(hashOf));
});
