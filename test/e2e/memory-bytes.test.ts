import { expect, it } from 'vitest';
import { newestBlock } from './questions.ts';
import { ANY_WORLD, World } from './world.ts';

it('an entry takes more of memory.maxSize once it was sent as a hit, with the head that is kept for it', async () => {
  await using world = await World.start(ANY_WORLD);
  const target = newestBlock(world);
  const bytes = () => world.proxy.metric('toncache_memory_bytes');
  await world.ask(target);
  const before = await bytes();
  // The first hit does not pass the fast lane's look-up.
  for (let time = 0; time < 3; time++) expect(await world.ask(target)).toMatchObject({ cache: { hit: true } });
  expect(await bytes()).toBe(before + 640 + 330);
});
