import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeStatus } from '../../../src/operate/describe-status.ts';
import type { StatusMessage } from '../../../src/operate/status/status-pages.ts';

type Given = { readonly says: string; readonly conditions: readonly string[]; readonly upstreams: readonly string[] };

/** A message of an instance; the other members are not read. */
const messageOf = ({ says, conditions, upstreams }: Given) =>
  ({
    about: { version: '0.1.0', host: 'host-1', network: 'mainnet', startedAt: 0 },
    at: 60_000,
    says,
    conditions: conditions.map((words) => ({ level: 'degraded', since: 0, says: words })),
    hour: { seconds: 60, requests: 1200, saved: 900, olderAnswers: 0 },
    upstreams: upstreams.map((upstream) => ({
      upstream,
      state: 'healthy',
      isBackup: false,
      perSecond: 1,
      failedPerSecond: 0,
    })),
  }) as unknown as StatusMessage;

const words = fc.stringMatching(/^[a-z]{1,30}( [a-z]{1,30}){0,20}$/);

test('the status in a terminal has at most 20 lines of 100 columns, and each indexer if there is room', () => {
  const given = fc.record({
    says: words,
    conditions: fc.array(words, { maxLength: 40 }),
    upstreams: fc.array(fc.stringMatching(/^[a-z]{1,120}$/), { minLength: 1, maxLength: 30 }),
  });
  fc.assert(
    fc.property(given, (message) => {
      const text = describeStatus(messageOf(message));
      const lines = text.slice(0, -1).split('\n');
      expect(lines.length).toBeLessThanOrEqual(20);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
      expect(lines.filter((line) => line.startsWith('0.1.0 on host-1'))).toHaveLength(1);
      const shown = lines.filter((line) => / healthy, |…$|^and \d+ more$/.test(line)).length;
      if (message.upstreams.length < 9) expect(shown).toBeGreaterThanOrEqual(message.upstreams.length);
    }),
  );
});

test('the status in a terminal counts the conditions and indexers that it leaves out', () => {
  const many = (name: string) => Array.from({ length: 40 }, (_, index) => `${name}${index}`);
  const text = describeStatus(messageOf({ says: 'FAILING', conditions: many('c'), upstreams: many('u') }));
  expect(text.split('\n').filter((line) => line.endsWith(' more'))).toEqual(['and 32 more', 'and 32 more']);
  expect(text).toContain('\n0.1.0 on host-1, mainnet, up 1 min; saved 900 of 1,200 requests in the last 1 min\n');
});
