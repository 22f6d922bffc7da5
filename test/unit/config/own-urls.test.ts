import { expect, test } from 'vitest';
import { adminUrlOf, publicUrlOf } from '../../../src/config/own-urls.ts';
import { load, REQUIRED } from './configured.ts';

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['::1', '[::1]'],
  ['localhost', 'localhost'],
])('a process that listens on %s is asked at %s', (listensOn, asked) => {
  const own = { HOST: listensOn, PORT: '1080', ADMIN_HOST: listensOn, ADMIN_PORT: '1094' };
  const { http } = load({ ...REQUIRED, ...own }).settings;
  expect([publicUrlOf(http), adminUrlOf(http)]).toEqual([`http://${asked}:1080`, `http://${asked}:1094`]);
});
