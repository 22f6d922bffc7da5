import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TopKeys } from '../../../../src/operate/status/top-keys.ts';

/** As `random`, it lets no request be skipped: each is counted. */
const NEVER_SKIPS = () => 0;

describe('the most requested keys', () => {
  it('are found among up to 3000 requests with at most 64 counted keys', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 20 }), fc.integer({ min: 100, max: 3000 }), (every, others) => {
        const keys = new TopKeys(NEVER_SKIPS, () => 0);
        for (let request = 0; request < others; request++) {
          keys.count(request % every === 0 ? 'often' : `once ${request}`);
        }
        expect(keys.top(1)[0]?.key).toBe('often');
        expect(keys.top(1000).length).toBeLessThanOrEqual(64);
      }),
      { numRuns: 20 },
    );
  });

  it('have no known share until 20 requests were counted, of several keys', () => {
    const keys = new TopKeys(NEVER_SKIPS, () => 0);
    for (let request = 0; request < 19; request++) keys.count(request < 15 ? 'one' : 'other');
    expect(keys.mostShare).toBe(0);
    keys.count('other');
    expect(keys.mostShare).toBe(0.75);
    const alone = new TopKeys(NEVER_SKIPS, () => 0);
    for (let request = 0; request < 100; request++) alone.count('one');
    expect(alone.mostShare).toBe(0);
  });

  it('are forgotten without further requests', () => {
    let now = 0;
    const keys = new TopKeys(NEVER_SKIPS, () => now);
    for (let request = 0; request < 100; request++) keys.count('old');
    now = 120_000;
    for (let request = 0; request < 10; request++) keys.count('new');
    expect(keys.top(1)[0]?.key).toBe('new');
    now = 3_600_000;
    expect(keys.top(10)).toEqual([]);
  });
});
