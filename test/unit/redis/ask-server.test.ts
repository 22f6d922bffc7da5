import { expect, test } from 'vitest';
import { readServerTime } from '../../../src/redis/ask-server.ts';

test.each([[[]], [['1']], [['x', 'y']], [null], ['1']])('a reply that is no time is refused: %j', async (reply) => {
  expect(await readServerTime({ runScript: async () => reply }, 'clock')).toBeUndefined();
});
