import { describe, expect, it } from 'vitest';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import { answering } from './faulty-world.ts';

const KEY = 'our-key';
const start = () => World.start({ ...ANY_WORLD, proxy: { stopsTime: true, env: { UPSTREAM_API_KEY: KEY } } });

const verdictOf = async (world: World) => JSON.parse((await world.proxy.askAdmin('/status.json')).text).verdict;
const saidIn = (world: World) =>
  world.proxy.log.flatMap((line) => ('upstreamMessage' in line ? [[line.msg, line.upstreamMessage] as const] : []));

/** Requests five new keys, which all fail with this answer, and returns the verdict a second later. */
async function failWith(world: World, body: string, headers: Readonly<Record<string, string>>, status: number) {
  await world.ask(newestBlock(world));
  await verdictOf(world);
  world.advance(20_000);
  await verdictOf(world);
  world.indexer.faults.inject(answering(body, headers, status));
  for (let time = 0; time < 5; time++) await world.ask(unknownTransaction());
  world.advance(1000);
  return verdictOf(world);
}

describe('status page and log show the message of the indexer', () => {
  it('about a used-up quota, with 403', async () => {
    await using world = await start();
    const { cause } = await failWith(world, '{"error":"Daily limit of your plan is used up"}', {}, 403);
    expect(cause).toBe('the indexer refuses our API key (403: Daily limit of your plan is used up)');
    expect(saidIn(world)[0]).toEqual([
      'the indexer refuses our API key: check UPSTREAM_API_KEY (clients get 502)',
      '403: Daily limit of your plan is used up',
    ]);
  });

  it('about a used-up quota, with 429 and the time that it asks for', async () => {
    await using world = await start();
    const { cause } = await failWith(world, '{"error":"quota"}', { 'Retry-After': '43200' }, 429);
    expect(cause).toBe('the indexer asked for a pause (429) (quota; asks for 12 h)');
    expect(saidIn(world).map(([, said]) => said)).toContain('429: quota; asks for 12 h');
  });

  it('without keys, long parts, control characters and everything after 100 characters', async () => {
    await using world = await start();
    const body = `no\u0000 \u202e<b>${KEY}</b> ${'k'.repeat(64)} ${'word '.repeat(100)}`;
    const { cause } = await failWith(world, body, {}, 503);
    expect(cause).toContain('the indexer answers 503 (no <b>***</b> … word word');
    expect(cause.length).toBeLessThan(200);
    expect(JSON.stringify(world.proxy.log)).not.toContain(KEY);
  });

  it('or of a web server that answers in its place', async () => {
    await using world = await start();
    const page = `<!doctype html>\n<title>welcome ${KEY}</title>`;
    const { cause } = await failWith(world, page, { 'Content-Type': 'text/html' }, 200);
    expect(cause).toBe(
      'the indexer sends answers that its API does not describe (200: <!doctype html> <title>welcome ***</title>)',
    );
  });

  it('or of a firewall that refuses some requests, which does not count as a refused key', async () => {
    await using world = await start();
    await verdictOf(world);
    world.indexer.faults.inject(answering('<html>Attention Required!</html>', {}, 403), {
      operation: 'adjacentTransactions',
    });
    for (let time = 0; time < 5; time++) {
      await world.ask(newestBlock(world));
      await world.ask(unknownTransaction());
    }
    world.advance(1000);
    expect((await verdictOf(world)).cause).toBe('the indexer answers 403 (<html>Attention Required!</html>)');
    expect(world.proxy.log.filter(({ msg }) => msg.includes('refuses our API key'))).toEqual([]);
  });
});
