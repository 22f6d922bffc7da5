import { expect, test } from 'vitest';
import { LostAnswers } from './lost-answers.ts';

test.each([
  ['only Redis was emptied', [['ofRedis', 20]], 10, 10, false],
  ['only memory was emptied', [['ofMemory', 20]], 10, 10, false],
  [
    'Redis was emptied, then memory',
    [
      ['ofRedis', 20],
      ['ofMemory', 30],
    ],
    10,
    25,
    true,
  ],
  [
    'it was loaded after Redis was emptied',
    [
      ['ofRedis', 20],
      ['ofMemory', 30],
    ],
    21,
    25,
    false,
  ],
  [
    'memory was emptied, then Redis',
    [
      ['ofMemory', 20],
      ['ofRedis', 30],
    ],
    10,
    15,
    true,
  ],
  [
    'it was served between memory and Redis, from Redis',
    [
      ['ofMemory', 20],
      ['ofRedis', 30],
    ],
    10,
    25,
    false,
  ],
] as const)('an answer can be lost if %s', (_, losses, loadedAt, servedAt, isLost) => {
  const lost = new LostAnswers();
  for (const [tier, at] of losses) lost[tier](at);
  expect(lost.include({ loadedAt, servedAt })).toBe(isLost);
});
