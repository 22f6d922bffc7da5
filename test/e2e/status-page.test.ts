import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProxy } from '../support/start-proxy.ts';
import { newestBlock, parentOfSettled } from './questions.ts';
import { messagesOf, openEvents, type StatusMessage } from './status-events.ts';
import { ANY_WORLD, World } from './world.ts';

describe('the status page', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start(ANY_WORLD);
  });
  afterEach(() => world[Symbol.asyncDispose]());

  it('comes with all its files, which nothing from elsewhere gets into', async () => {
    const { status, headers, text } = await world.proxy.askAdmin('/');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';/,
    );
    expect(text).not.toMatch(/https?:/);
    const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(files.length).toBeGreaterThan(3);
    for (const path of [...files, '/uplot.js', '/status/charts.js']) {
      expect((await world.proxy.askAdmin(path)).status, path).toBe(200);
    }
    expect((await world.proxy.askAdmin('/', { method: 'HEAD' })).text).toBe('');
  });

  it('gets numbers and the keys asked for most, once a second', async () => {
    const target = parentOfSettled(world);
    await world.ask(target);
    const events = await openEvents(world.proxy.adminUrl);
    expect(events.headers['content-type']).toBe('text/event-stream');
    const messages = messagesOf(events);
    const first: StatusMessage = (await messages.next()).value;
    expect(first.rates).toBeUndefined();
    expect(first).toMatchObject({ redis: 'not configured', memory: { entries: 1 } });
    await world.ask(target);
    // On a busy machine the request may come after the second message.
    let second: StatusMessage;
    do second = (await messages.next()).value;
    while (!second.rates?.['hit-memory']);
    expect(second.rates['hit-memory']).toBeGreaterThan(0);
    expect(second.hitRatio).toBe(1);
    expect(second.keys).toEqual([
      {
        request: decodeURIComponent(target).replace('/api/v3/', ''),
        share: 1,
        answerClass: 'final',
        freshForMs: expect.any(Number),
      },
    ]);
    events.destroy();
  });

  it('counts the hits that the fast lane answers among the keys asked for most', async () => {
    await world.ask(parentOfSettled(world));
    const polled = newestBlock(world);
    // Of 400 requests at least 12 are in the sample. The first two do not pass the fast lane's look-up.
    for (let time = 0; time < 400; time++) await world.ask(polled);
    const events = await openEvents(world.proxy.adminUrl);
    const { keys }: StatusMessage = (await messagesOf(events).next()).value;
    expect(keys?.[0]?.request).toBe(polled.replace('/api/v3/', ''));
    expect(keys?.[0]?.share).toBeGreaterThan(0.9);
    events.destroy();
  });

  it('gets no numbers under another name, nor for another site', async () => {
    for (const [status, headers] of [
      [421, { Host: 'rebound.example' }],
      [403, { Origin: 'http://elsewhere.example' }],
      [403, { 'Sec-Fetch-Site': 'cross-site' }],
    ] as const) {
      const { statusCode } = await openEvents(world.proxy.adminUrl, headers);
      expect(statusCode, JSON.stringify(headers)).toBe(status);
    }
  });

  it('gets the keys only with the token where one is set', async () => {
    await using guarded = await startProxy({
      upstreamUrl: world.indexer.url,
      env: { ADMIN_TOKEN: 'a-secret-of-24-letters-x' },
    });
    const keysFor = async (headers: Record<string, string>) => {
      const events = await openEvents(guarded.adminUrl, headers);
      const message: StatusMessage = (await messagesOf(events).next()).value;
      events.destroy();
      return message.keys;
    };
    expect(await keysFor({})).toBeUndefined();
    expect(await keysFor({ Authorization: 'Bearer wrong' })).toBeUndefined();
    expect(await keysFor({ Authorization: 'Bearer a-secret-of-24-letters-x' })).toEqual([]);
  });

  it('takes whoever comes, however many look or never read: the oldest makes room', async () => {
    // Each stays open, and nothing of what it is sent is read.
    const looking = [];
    for (let time = 0; time < 20; time++) looking.push(await openEvents(world.proxy.adminUrl));
    expect(looking.map(({ statusCode }) => statusCode)).toEqual(new Array(20).fill(200));
    const last = await messagesOf(looking[19] as IncomingMessage).next();
    expect(last.value).toMatchObject({ redis: 'not configured' });
    const [oldest, ...others] = await Promise.allSettled(
      looking.slice(3, 5).map(async (each) => {
        const messages = messagesOf(each);
        await messages.next();
        return messages.next();
      }),
    );
    expect([oldest?.status, others[0]?.status]).toEqual(['rejected', 'fulfilled']);
    for (const events of looking) events.destroy();
  });

  it('ends what it sends when the proxy begins to drain', async () => {
    const proxy = await startProxy({ upstreamUrl: world.indexer.url });
    const events = await openEvents(proxy.adminUrl);
    const messages = messagesOf(events);
    await messages.next();
    const closing = proxy.close();
    while (!(await messages.next()).done);
    expect(events.complete).toBe(true);
    await closing;
  });
});
