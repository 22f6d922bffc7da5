import { describe, expect, it } from 'vitest';
import { listSettings, loadSettings } from '../../../src/config/load.ts';
import { unitEntries } from '../../support/deploy-files.ts';

const SETTINGS = new Set([...listSettings().map(({ env }) => env), 'CONFIG_FILE', 'NODE_OPTIONS']);

describe.each(['systemd/toncache.service', 'systemd/toncache@.service'])('%s', (file) => {
  const entries = unitEntries(file);
  const value = (wanted: string) => entries.find(([name]) => name === wanted)?.[1] ?? '';
  const environment = Object.fromEntries(
    entries
      .filter(([name]) => name === 'Environment')
      .flatMap(([, pairs]) => pairs.replaceAll('%i', '9465').split(' '))
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );

  it('sets no variable that is not a setting, and values that toncache accepts', () => {
    expect(Object.keys(environment).filter((name) => !SETTINGS.has(name))).toEqual([]);
    const { settings } = loadSettings(environment);
    const stopMs = 1000 * Number(value('TimeoutStopSec'));
    expect(stopMs).toBeGreaterThanOrEqual(settings.http.shutdownDelay + settings.http.drain + 3000);
    const memoryMib = Number(/^(\d+)M$/.exec(value('MemoryMax'))?.[1]);
    expect(memoryMib).toBeGreaterThanOrEqual(settings.memory.maxSize / 1024 ** 2 + 450);
  });

  it('starts the installed command, and not again when the settings are wrong', () => {
    expect(value('ExecStart')).toBe('/usr/bin/toncache start');
    expect(value('RestartPreventExitStatus')).toBe('78');
    expect(value('DynamicUser')).toBe('yes');
  });

  it('does not forbid what Node needs: memory that it writes and executes', () => {
    expect(value('MemoryDenyWriteExecute')).toBe('');
  });
});

describe('systemd/toncache@.service', () => {
  it('gives each process an admin port of its own on one public port', () => {
    const [, environment = ''] =
      unitEntries('systemd/toncache@.service').find(([name]) => name === 'Environment') ?? [];
    expect(environment.split(' ')).toEqual(expect.arrayContaining(['REUSE_PORT=on', 'ADMIN_PORT=%i']));
    expect(environment).not.toMatch(/(^| )PORT=/);
  });
});
