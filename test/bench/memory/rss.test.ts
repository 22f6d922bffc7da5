import { describe, expect, it } from 'vitest';
import { parseRss } from './rss.ts';

describe('/proc/<pid>/status', () => {
  it('tells the resident memory', () => {
    expect(parseRss('Name:\tnode\nVmHWM:\t   90000 kB\nVmRSS:\t   81236 kB\nRssAnon:\t 5 kB\n')).toBe(81_236 * 1024);
  });

  it('of a process that has ended tells none', () => {
    expect(() => parseRss('Name:\tnode\nState:\tZ (zombie)\n')).toThrow('no VmRSS');
  });
});
