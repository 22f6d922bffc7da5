import { describe, expect, test } from 'vitest';
import { readFields, readHead } from '../../../src/http/fast/request-head.ts';
import { cpuMicroseconds } from '../../support/cpu-time.ts';

const MIB = 2 ** 20;
const START = 'GET /api/v3/masterchainBlockShards?seqno=1 HTTP/1.1\r\n';
const HOST = 'Host: x\r\n';
const filled = (part: string) => part.repeat(Math.ceil(MIB / part.length));

describe('the cost of a head grows no faster than its length', () => {
  // Each takes a few milliseconds; a quadratic algorithm would take minutes.
  test.each([
    ['blanks before a byte above 7E', `X:${filled(' ')}\x80`],
    ['blanks without an end', `X:${filled(' ')}`],
    ['tabs before a byte above 7E', `X:${filled('\t')}\x80`],
    ['blanks and tabs before a bare CR', `X:${filled(' \t')}\ra`],
    ['blanks before a value', `X:${filled(' ')}a\r\n`],
    ['lines of blanks', `${filled(`X:${' '.repeat(1000)}\r\n`)}X:\x80`],
    ['a name without a colon', filled('X')],
    ['lines without a value', filled('X:\r\n')],
  ])('1 MiB of %s', (_, fields) => {
    for (const text of [START + fields, `${START}${HOST}${fields}\r\n\r\n`]) {
      expect(cpuMicroseconds(() => readHead(text, 0, 2 * MIB))).toBeLessThan(10_000_000);
    }
    for (const text of [fields, HOST + fields, `${HOST}${fields}\r\n`]) {
      expect(cpuMicroseconds(() => readFields(text))).toBeLessThan(10_000_000);
    }
  });
});

describe('a field value', () => {
  test.each([' a b ', '\ta b\t', ' \t a b\t \t', 'a b'])('is read without the blanks around it: %j', (value) => {
    const fields = readFields(`${HOST}X-Request-Id:${value}\r\nConnection:\t keep-alive \r\n`);
    expect(fields?.headers).toEqual({ 'x-request-id': 'a b' });
  });

  test.each(['', ' ', '\t \t'])('may be empty: %j', (value) => {
    expect(readFields(`${HOST}X-Request-Id:${value}\r\n`)?.headers).toEqual({ 'x-request-id': '' });
  });
});

test('a request with two Forwarded lines is plain, and one with two X-Forwarded-For lines is left to Node', () => {
  expect(readFields(`${HOST}Forwarded: for=192.0.2.1\r\nForwarded: for=192.0.2.2\r\n`)?.isPlain).toBe(true);
  expect(readFields(`${HOST}X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n`)).toBeUndefined();
});
