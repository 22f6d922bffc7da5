import { describe, expect, it } from 'vitest';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { ANY_WORLD, World } from '../e2e/world.ts';
import { answering } from './faulty-world.ts';

const KEY = 'our-key';
const start = () => World.start({ ...ANY_WORLD, proxy: { stopsTime: true, env: { UPSTREAM_API_KEY: KEY } } });

const lineOf = async (world: World) => JSON.parse((await world.proxy.askAdmin('/status.json')).text).says as string;
const saidIn = (world: World) => world.proxy.log.map(({ msg }) => msg).join('\n');

/** Requests five new keys, which all fail with this answer, and returns the first line a second later. */
async function failWith(world: World, body: string, headers: Readonly<Record<string, string>>, status: number) {
  await world.ask(newestBlock(world));
  await lineOf(world);
  world.advance(20_000);
  await lineOf(world);
  world.indexer.faults.inject(answering(body, headers, status));
  for (let time = 0; time < 5; time++) await world.ask(unknownTransaction());
  world.advance(1000);
  return lineOf(world);
}

describe('status page and log show the message of the indexer', () => {
  it('about a used-up quota, with 403', async () => {
    await using world = await start();
    const line = await failWith(world, '{"error":"Daily limit of your plan is used up"}', {}, 403);
    expect(line).toContain('he indexer refuses our API key (403: Daily limit of your plan is used up)');
    expect(saidIn(world)).toContain('(403: Daily limit of your plan is used up)');
    expect(JSON.stringify(world.proxy.log)).toContain('check UPSTREAM_API_KEY');
  });

  it('about a used-up quota, with 429 and the time that it asks for', async () => {
    await using world = await start();
    const line = await failWith(world, '{"error":"quota"}', { 'Retry-After': '43200' }, 429);
    expect(line).toContain('he indexer is rate limited (429: quota, retry in 12 h)');
    expect(saidIn(world)).toContain('(429: quota, retry in 12 h)');
  });

  it('without keys, long parts, control characters and everything after 40 characters', async () => {
    await using world = await start();
    const body = `no\u0000 \u202e<b>${KEY}</b> ${'k'.repeat(64)} ${'word '.repeat(100)}`;
    const line = await failWith(world, body, {}, 503);
    expect(line).toContain('he indexer answers 503 (no  ***  … word word');
    expect(line.length).toBeLessThan(150);
    expect(JSON.stringify(world.proxy.log)).not.toContain(KEY);
  });

  it('or of a web server that answers in its place', async () => {
    await using world = await start();
    const page = `<!doctype html>\n<title>welcome ${KEY}</title>`;
    const line = await failWith(world, page, { 'Content-Type': 'text/html' }, 200);
    expect(line).toContain('he indexer sends responses that its API does not describe (200: welcome ***)');
  });

  it('or of a firewall that refuses some requests, which does not count as a refused key', async () => {
    await using world = await start();
    await lineOf(world);
    world.indexer.faults.inject(answering('<html>Attention Required!</html>', {}, 403), {
      operation: 'adjacentTransactions',
    });
    for (let time = 0; time < 5; time++) {
      await world.ask(newestBlock(world));
      await world.ask(unknownTransaction());
    }
    world.advance(1000);
    expect(await lineOf(world)).toContain('he indexer answers 403 (Attention Required!)');
    expect(world.proxy.log.filter(({ msg }) => msg.includes('refuses our API key'))).toEqual([]);
  });
});
