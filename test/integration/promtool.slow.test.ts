import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { newestBlock, unknownTransaction } from '../e2e/questions.ts';
import { World } from '../e2e/world.ts';
import { promtool } from '../support/promtool.ts';

const file = (name: string) => fileURLToPath(new URL(`../../config/prometheus/${name}`, import.meta.url));

it.each([
  ['are rules that Prometheus loads', 'check', 'alerts.yml'],
  ['fire in a made-up history in which everything fails, and not before', 'test', 'alerts.test.yaml'],
])('the alerts %s', async (_, what, name) => {
  const { exitStatus, output } = await promtool([what, 'rules', file(name)]);
  expect(output).toContain('SUCCESS');
  expect(exitStatus).toBe(0);
});

it('the metrics page passes promtool check metrics without a warning', async () => {
  await using world = await World.start({ dialect: '1.3', tiers: 'memory and Redis' });
  for (const target of [newestBlock(world), newestBlock(world), unknownTransaction()]) await world.ask(target);
  await world.ask('/api/v3/masterchainBlockShards?seqno=none');
  const { text } = await world.proxy.askAdmin('/metrics');
  expect(await promtool(['check', 'metrics'], text)).toEqual({ exitStatus: 0, output: '' });
});
