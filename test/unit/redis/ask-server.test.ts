import { expect, test } from 'vitest';
import { readServerTime } from '../../../src/redis/ask-server.ts';

test.each([[[]], [['x', 'y']], [null], ['']])('a reply that is no time is refused: %j', async (reply) => {
  expect(await readServerTime(async () => reply)).toBeUndefined();
});
