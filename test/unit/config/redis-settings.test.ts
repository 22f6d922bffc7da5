import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { selfSignedCertificate } from '../../support/self-signed-certificate.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

const { key, cert } = selfSignedCertificate('redis', '127.0.0.1');
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'toncache-ca-'));
});

afterAll(() => rmSync(dir, { recursive: true }));

function file(content: string): string {
  const path = join(dir, `${Math.random()}.pem`);
  writeFileSync(path, content);
  return path;
}

const problemOf = (REDIS_TLS_CA_FILE: string, REDIS_URL = 'rediss://r') =>
  problemsOf({ ...REQUIRED, REDIS_URL, REDIS_TLS_CA_FILE });

describe('REDIS_TLS_CA_FILE', () => {
  test.each(['rediss://r', 'redis-cluster://a,b', 'redis-sentinel://a,b?name=m'])('is read for %s', (REDIS_URL) => {
    const { settings } = load({ ...REQUIRED, REDIS_URL, REDIS_TLS_CA_FILE: file(cert) });
    expect(settings.redis.tlsCaFile).toBe(cert.trim());
  });

  test('that cannot be read is reported by the name of the setting', () => {
    expect(problemOf(join(dir, 'missing.pem'))).toEqual([
      `REDIS_TLS_CA_FILE="${join(dir, 'missing.pem')}": must name a file that can be read and holds certificates in PEM`,
    ]);
    expect(problemOf(dir)).toHaveLength(1);
  });

  test.each([
    ['nothing', ''],
    ['a key', key],
    ['an invalid certificate', cert.replace(/M[A-Z]/, '!!')],
    ['a valid certificate and a truncated one', `${cert}${cert.slice(0, 60)}\n-----END CERTIFICATE-----\n`],
  ])('that holds %s is refused, and the error does not repeat the content', (_, content) => {
    const path = file(content);
    expect(problemOf(path)).toEqual([
      `REDIS_TLS_CA_FILE="${path}": must name a file that can be read and holds certificates in PEM`,
    ]);
  });

  test('is refused if REDIS_URL does not use TLS', () => {
    const path = file(cert);
    expect(problemOf(path, 'redis://r')).toEqual([
      `REDIS_TLS_CA_FILE="${path}": is not for redis://, which is without TLS: use rediss://`,
    ]);
  });
});
