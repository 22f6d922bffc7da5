import { describe, expect, it } from 'vitest';
import { isShortage, shortageOfFiles } from '../../src/shortage.ts';

const coded = (code: string, cause?: unknown) => Object.assign(new Error(code, { cause }), { code });

describe('a shortage of this machine', () => {
  it.each([
    ['its own error', coded('EMFILE'), true],
    ['the cause of another error', new Error('fetch failed', { cause: coded('ENFILE') }), true],
    ['a resolver without memory', coded('EAI_MEMORY'), true],
    ['all of several attempts', new AggregateError([coded('EMFILE'), coded('ENOBUFS')]), true],
    // Both families of localhost where IPv6 is off.
    ['one of several attempts', new AggregateError([coded('ECONNREFUSED'), coded('EADDRNOTAVAIL')]), false],
    ['no attempt', new AggregateError([]), false],
    ['a host that refuses', coded('ECONNREFUSED'), false],
    ['a name that is not there', coded('ENOTFOUND'), false],
    ['no error', undefined, false],
  ])('%s', (_, error, expected) => expect(isShortage(error)).toBe(expected));

  it('is not there while a file can be opened', () => expect(shortageOfFiles()).toBeUndefined());
});
