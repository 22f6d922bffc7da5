import { describe, expect, it } from 'vitest';
import { casesOf, titleOf } from './cases.ts';
import { problemOf } from './measure.ts';
import { readOptions } from './options.ts';
import { FIRST_MISS_SEQNO, hitTarget, missPattern } from './targets.ts';

describe('the cases', () => {
  it('are all without a choice, and have one title for all sizes', () => {
    const titles = Map.groupBy(casesOf(), titleOf);
    expect([...titles.keys()]).toEqual([
      'hits, 1 URL',
      'hits, 500 URLs',
      'hits, 1 URL, gzip',
      'hits, 500 URLs, gzip',
      'misses',
      'misses, gzip',
      '9 hits, 1 miss',
      '9 hits, 1 miss, gzip',
      'hits in Redis alone',
      'hits in Redis alone, gzip',
      'hits confirmed by Redis',
      'hits confirmed by Redis, gzip',
    ]);
    for (const same of titles.values()) expect(same.map(({ sizeKb }) => sizeKb)).toEqual([2, 20, 200]);
  });

  it('never ask for a hit as a miss', () => {
    const seqnoOf = (target: string) => Number(/seqno=(\d+)/.exec(target)?.[1]);
    expect(seqnoOf(hitTarget(2, 0))).toBeGreaterThan(FIRST_MISS_SEQNO);
    for (const sizeKb of [20, 200]) {
      const miss = missPattern(sizeKb).replace('{hex}', '1'.padStart(62, '0'));
      expect(miss).toHaveLength(hitTarget(sizeKb, 0).length);
      expect(miss).not.toBe(hitTarget(sizeKb, 1));
    }
  });
});

describe('a load', () => {
  const [hits, misses, mixed] = casesOf(['hits', 'misses', 'mixed'], [2]).filter(({ gzip, urls }) => !gzip && urls > 1);
  const load = { requests: 100_000, refused: 0, broken: 0, asked: 0 };

  it.each([
    [hits, { asked: 40 }],
    [misses, { asked: 100_032 }],
    [mixed, { asked: 10_003 }],
  ])('is what the case says when as many requests as it says reached the indexer (%j)', (compared, figures) => {
    expect(compared && problemOf(compared, { ...load, ...figures })).toBeUndefined();
  });

  it.each([
    [hits, { asked: 90_000 }, 'none should have'],
    [misses, { asked: 100 }, 'all should have'],
    [mixed, { asked: 100_000 }, 'every tenth should have'],
    [hits, { refused: 5000 }, '5000 of 100000 requests were refused'],
    [hits, { requests: 0 }, 'nothing was answered'],
  ])('is not what the case says otherwise (%j, %j)', (compared, figures, problem) => {
    expect(compared && problemOf(compared, { ...load, ...figures })).toContain(problem);
  });
});

describe('the options', () => {
  it('are everything, on this folder, when none is given', () => {
    expect(readOptions([], '/here')).toEqual({
      kinds: ['hits', 'misses', 'mixed', 'redis', 'confirmed'],
      sizesKb: [2, 20, 200],
      rounds: 3,
      seconds: 3,
      toncaches: ['/here'],
      json: false,
    });
  });

  it('choose cases, and as many toncaches as are named', () => {
    const args = ['--only', 'hits,misses', '--sizes', '2,20', '--rounds', '5', '--toncache', 'a', '--toncache', 'b'];
    expect(readOptions(args, '/here')).toMatchObject({
      kinds: ['hits', 'misses'],
      sizesKb: [2, 20],
      rounds: 5,
      toncaches: ['a', 'b'],
    });
  });

  it.each([
    [['--only', 'hit'], '--only accepts hits, misses, mixed, redis, confirmed'],
    [['--sizes', '3'], '--sizes accepts 2, 20, 200'],
    [['--rounds', '0'], '--rounds accepts an integer from 1 to 1000'],
    [['--seconds', 'x'], '--seconds accepts an integer from 1 to 1000'],
    [['--fast'], '--fast'],
  ])('say what is accepted (%j)', (args, problem) => {
    expect(() => readOptions(args, '/here')).toThrow(problem);
  });
});
