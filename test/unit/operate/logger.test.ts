import { expect, test } from 'vitest';
import { createLogger } from '../../../src/operate/logger.ts';

test('in a terminal a line is its time, level, message and fields, without secrets and control characters', () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) }, true);
  logger.warn(
    { condition: 'paused', url: 'redis://u:hunter2@r', why: 'a "b" c', list: [1], n: 0 },
    'DEGRADED: \u001b[31mx',
  );
  logger.error({ err: new Error('boom') }, 'this should not happen');
  logger.info('plain');
  const [warned, erred, plain] = lines;
  expect(warned).toMatch(/^\d\d:\d\d:\d\d WARN DEGRADED: {2}\[31mx condition=paused /);
  expect(warned).toContain(' url=redis://u:[redacted]@r why="a \\"b\\" c" list=[1] n=0\n');
  expect(erred).toMatch(/^\d\d:\d\d:\d\d ERROR this should not happen\nError: boom\n {4}at /);
  expect(plain).toMatch(/^\d\d:\d\d:\d\d INFO plain\n$/);
});

test.each([
  { apiKey: 'hunter2' },
  { settings: { upstream: { apiKey: 'hunter2' }, http: { adminToken: 'hun"ter\\2hunter2' } } },
  { err: Object.assign(new Error('x'), { headers: { Authorization: 'Bearer hunter2', Cookie: ['hunter2'] } }) },
  { headers: { 'X-Api-Key': 'hunter2' }, query: { api_key: 'hunter2' }, password: 'hunter2' },
  { target: '/api/v3/blocks?api_key=hunter2&x=1', redis: { url: 'redis://user:hunter2@r:6379/0' } },
])('the logger redacts secrets: %j', (fields) => {
  const lines: string[] = [];
  createLogger('info', { write: (line) => void lines.push(line) }).info(fields, 'said');
  expect(lines.join()).toContain('[redacted]');
  expect(lines.join()).not.toMatch(/hunter|ter.2/);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', msg: 'said' });
});
