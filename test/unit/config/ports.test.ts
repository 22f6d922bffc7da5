import { expect, test } from 'vitest';
import { problemsOf, REQUIRED } from './configured.ts';

const problemsWith = (hosts: Readonly<Record<string, string>>, ports: Readonly<Record<string, string>>) =>
  problemsOf({ ...REQUIRED, ...hosts, ...ports });

const ONE_PORT = { PORT: '7000', ADMIN_PORT: '7000' };

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['127.0.0.1', '0.0.0.0'],
  ['::', '192.0.2.1'],
  ['0.0.0.0', '::'],
  ['::1', '::0'],
  ['localhost', '127.0.0.1'],
  ['0.0.0.0', 'my-host'],
  ['my-host', 'my-host'],
])('one port cannot be both at %s and %s', (HOST, ADMIN_HOST) => {
  const refused = [
    'ADMIN_PORT (http.adminPort): must not be that of PORT (http.port): one process cannot listen on it twice',
  ];
  expect(problemsWith({ HOST, ADMIN_HOST }, ONE_PORT)).toEqual(refused);
  expect(problemsWith({ HOST, ADMIN_HOST }, { PORT: '9464' })).toEqual(refused);
  expect(problemsWith({ HOST, ADMIN_HOST, REUSE_PORT: 'on' }, { ADMIN_PORT: '8080' })).toEqual(refused);
  expect(problemsWith({ HOST, ADMIN_HOST }, { PORT: '0', ADMIN_PORT: '0' })).toEqual([]);
});

test.each([
  ['192.0.2.1', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.2'],
  ['0.0.0.0', '::1'],
  ['my-host', '127.0.0.1'],
])('one port can be both at %s and %s', (HOST, ADMIN_HOST) => {
  expect(problemsWith({ HOST, ADMIN_HOST }, ONE_PORT)).toEqual([]);
});
