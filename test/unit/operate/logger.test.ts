import { expect, test } from 'vitest';
import { createLogger } from '../../../src/operate/logger.ts';

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
