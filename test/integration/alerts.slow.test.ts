import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { promtool } from '../support/promtool.ts';

const file = (name: string) => fileURLToPath(new URL(`../../config/prometheus/${name}`, import.meta.url));

describe('the alerts', () => {
  it('are rules that Prometheus loads', async () => {
    const { exitStatus, output } = await promtool(['check', 'rules', file('alerts.yml')]);
    expect(output).toContain('SUCCESS');
    expect(exitStatus).toBe(0);
  });

  it('fire on a made-up history in which all goes wrong, and not before', async () => {
    const { exitStatus, output } = await promtool(['test', 'rules', file('alerts.test.yaml')]);
    expect(output).toContain('SUCCESS');
    expect(exitStatus).toBe(0);
  });
});
