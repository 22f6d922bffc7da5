import { expect, it } from 'vitest';
import { parentOfSettled } from '../e2e/questions.ts';
import { exchange } from '../support/http-client.ts';
import { expectCut, PASSED_THROUGH, startWorld } from './slow-reading.ts';

it('a client that reads a passed-through answer a few bytes at a time is cut, although it never stops reading', () =>
  expectCut(() => PASSED_THROUGH));

it('pipelined requests get large answers whole, in order, on one connection', async () => {
  await using world = await startWorld();
  const target = parentOfSettled(world);
  world.indexer.faults.inject({ kind: 'huge', bytes: 700_000 }, { times: 1 });
  const { text } = await world.ask(target);
  const get = (method: string, last = '') => `${method} ${target} HTTP/1.1\r\nHost: x\r\n${last}\r\n`;
  const heard = await exchange(
    world.proxy.url,
    get('GET') + get('HEAD') + get('GET') + get('GET', 'Connection: close\r\n'),
  );
  const [nothing, ...answers] = heard.split('HTTP/1.1 200 OK\r\n');
  expect(nothing).toBe('');
  const bodies = answers.map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4));
  expect(bodies.map((body) => body.length)).toEqual([700_000, 0, 700_000, 700_000]);
  expect(bodies.filter((body) => body !== '' && body !== text)).toEqual([]);
});
