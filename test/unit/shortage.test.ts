import { afterEach, describe, expect, it, vi } from 'vitest';
import { isShortage, residentBytes, shortageOfFiles } from '../../src/shortage.ts';

const coded = (code: string, cause?: unknown) => Object.assign(new Error(code, { cause }), { code });

describe('a shortage of this machine', () => {
  it.each([
    ['is found in an error itself', coded('EMFILE'), true],
    ['is found in the cause of another error', new Error('fetch failed', { cause: coded('ENFILE') }), true],
    ['is found if a resolver lacks memory', coded('EAI_MEMORY'), true],
    [
      'is found if all of several attempts lack resources',
      new AggregateError([coded('EMFILE'), coded('ENOBUFS')]),
      true,
    ],
    // The two address families of localhost when IPv6 is disabled.
    [
      'is not found if only one of several attempts lacks resources',
      new AggregateError([coded('ECONNREFUSED'), coded('EADDRNOTAVAIL')]),
      false,
    ],
    ['is not found without any attempt', new AggregateError([]), false],
    ['is not found if a host refuses the connection', coded('ECONNREFUSED'), false],
    ['is not found if a name does not exist', coded('ENOTFOUND'), false],
    ['is not found without an error', undefined, false],
  ])('%s', (_, error, expected) => expect(isShortage(error)).toBe(expected));

  it('is not found while a file can be opened', () => expect(shortageOfFiles()).toBeUndefined());
});

describe('the resident memory of this process', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('is the last one that was read while no file can be opened', () => {
    const rss = vi.spyOn(process.memoryUsage, 'rss').mockReturnValue(7);
    expect(residentBytes()).toBe(7);
    rss.mockImplementation(() => {
      throw coded('EMFILE');
    });
    expect(residentBytes()).toBe(7);
    rss.mockImplementation(() => {
      throw new Error('a bug');
    });
    expect(residentBytes).toThrow('a bug');
  });
});
