import { expect, test } from 'vitest';
import { adminUrlOf } from '../../../src/config/http-settings.ts';
import { load, REQUIRED } from './configured.ts';

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
