import { describe, expect, it } from 'vitest';
import { parentOfSettled } from '../e2e/questions.ts';
import type { World } from '../e2e/world.ts';
import { BODY_BYTES, expectCut, MIB, PASSED_THROUGH, readSlowly, SLOW_READER_MS, startWorld } from './slow-reading.ts';

it('a client that reads a cached answer a few bytes at a time is cut, although it never stops reading', () =>
  expectCut(parentOfSettled));

describe.each<[string, (world: World) => string]>([
  ['a cached answer', parentOfSettled],
  ['a passed-through answer', () => PASSED_THROUGH],
])('a client that reads %s', (_, targetIn) => {
  it('slowly, but fast enough, gets all of it', async () => {
    await using world = await startWorld();
    world.indexer.faults.inject({ kind: 'huge', bytes: BODY_BYTES });
    const startedAt = performance.now();
    const { received } = await readSlowly(world.proxy.url, targetIn(world), { bytes: MIB, everyMs: 150 });
    expect(received).toBeGreaterThan(BODY_BYTES);
    expect(performance.now() - startedAt).toBeGreaterThan(5 * SLOW_READER_MS);
  });
});
