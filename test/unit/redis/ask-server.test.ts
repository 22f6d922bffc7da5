import { expect, test } from 'vitest';
import { readServerTime } from '../../../src/redis/ask-server.ts';

test('the time of the server is read as seconds and microseconds', async () => {
  const asked: unknown[] = [];
  const runScript = async (...call: unknown[]) => {
    asked.push(call);
    return [Buffer.from('1800000000'), Buffer.from('123456')];
  };
  expect(await readServerTime({ runScript }, 'clock')).toBeCloseTo(1_800_000_000_123.456, 3);
  expect(asked).toEqual([[`return redis.call('TIME')`, ['clock'], []]]);
});

test.each([[[]], [['1']], [['x', 'y']], [null], ['1']])('a reply that is no time is refused: %j', async (reply) => {
  expect(await readServerTime({ runScript: async () => reply }, 'clock')).toBeUndefined();
});
