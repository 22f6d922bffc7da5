import { expect, test } from 'vitest';
import { Heads } from '../../../src/indexer/heads.ts';

const MAX_LAG = 12;

test('an indexer that is behind stays so while the newest has not answered yet, or does not', async () => {
  const answers = [Promise.withResolvers<number | undefined>(), Promise.withResolvers<number | undefined>()];
  const heads = answers.map((_, index) => ({
    seqno: index === 0 ? 1000 : 500,
    ask: async () => answers[index]?.promise,
  }));
  const changes: string[] = [];
  const all = new Heads({
    heads,
    now: () => 0,
    onBehind: (index, isBehind) => changes.push(`${index} ${isBehind}`),
    maxLag: MAX_LAG,
  });
  const asked = all.ask();
  answers[1]?.resolve(500);
  await Promise.resolve();
  answers[0]?.resolve(1000);
  await asked;
  expect([all.lag(0), all.lag(1), changes]).toEqual([0, 500, ['1 true']]);

  answers[0] = Promise.withResolvers();
  const again = all.ask();
  await new Promise((resolve) => setImmediate(resolve));
  expect(all.isBehind(1)).toBe(true);
  answers[0].resolve(undefined);
  await again;
  expect([all.lag(1), changes]).toEqual([500, ['1 true']]);
});
