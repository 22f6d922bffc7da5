import { expect, test } from 'vitest';
import { adminUrlOf } from '../../../src/config/http-settings.ts';
import { load, problemsOf, REQUIRED } from './configured.ts';

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
])('refuses one port for both HOST=%s and ADMIN_HOST=%s', (HOST, ADMIN_HOST) => {
  const refused = (name: string) => [
    `${name}: must not be that of PORT (http.port): one process cannot listen on it twice`,
  ];
  expect(problemsWith({ HOST, ADMIN_HOST }, ONE_PORT)).toEqual(refused(`ADMIN_PORT="${ONE_PORT.ADMIN_PORT}"`));
  expect(problemsWith({ HOST, ADMIN_HOST }, { PORT: '9464' })).toEqual(refused('ADMIN_PORT (http.adminPort)'));
  expect(problemsWith({ HOST, ADMIN_HOST, REUSE_PORT: 'on' }, { ADMIN_PORT: '8080' })).toEqual(
    refused('ADMIN_PORT="8080"'),
  );
  expect(problemsWith({ HOST, ADMIN_HOST }, { PORT: '0', ADMIN_PORT: '0' })).toEqual([]);
});

test.each([
  ['192.0.2.1', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.2'],
  ['0.0.0.0', '::1'],
  ['my-host', '127.0.0.1'],
])('accepts one port for both HOST=%s and ADMIN_HOST=%s', (HOST, ADMIN_HOST) => {
  expect(problemsWith({ HOST, ADMIN_HOST }, ONE_PORT)).toEqual([]);
});

test.each<[string, Readonly<Record<string, string>>]>([
  ['http://127.0.0.1:8080', {}],
  ['http://localhost:8080/api/v3', { HOST: '0.0.0.0' }],
  ['http://indexer:8081,http://[::1]:8080', { HOST: '::' }],
  ['http://127.0.0.1:9464', {}],
  ['http://my-host', { HOST: 'my-host', PORT: '80' }],
])('refuses an indexer at %s, which is toncache itself with %j', (UPSTREAM_URL, environment) => {
  const refused = [expect.stringMatching(/^UPSTREAM_URL \(upstream\.url\): must not lead to toncache itself/)];
  expect(problemsOf({ ...environment, UPSTREAM_URL })).toEqual(refused);
  expect(problemsOf({ ...REQUIRED, ...environment, UPSTREAM_BACKUP_URL: UPSTREAM_URL })).toEqual(refused);
});

test.each<[string, Readonly<Record<string, string>>]>([
  ['http://127.0.0.1:8081', {}],
  ['http://10.0.0.1:8080', { HOST: '0.0.0.0' }],
  ['http://127.0.0.1:8080', { HOST: '10.0.0.1' }],
  ['http://indexer:8080', { HOST: '0.0.0.0' }],
  ['http://127.0.0.1:80', { PORT: '0', ADMIN_PORT: '0' }],
])('accepts an indexer at %s, which is another process with %j', (UPSTREAM_URL, environment) => {
  expect(problemsOf({ ...environment, UPSTREAM_URL })).toEqual([]);
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['::1', '[::1]'],
  ['localhost', 'localhost'],
])('for a process that listens on %s, the admin URL has the host %s', (listensOn, asked) => {
  const own = { ADMIN_HOST: listensOn, ADMIN_PORT: '1094' };
  const { http } = load({ ...REQUIRED, ...own }).settings;
  expect(adminUrlOf(http)).toBe(`http://${asked}:1094`);
});
