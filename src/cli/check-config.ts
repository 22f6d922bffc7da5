import { loadSettings, SettingsError } from '../config/load.ts';
import type { Sourced } from '../config/setting-source.ts';
import { type Command, EXIT } from './command.ts';
import { expectNoMore, readOptions } from './options.ts';
import { textTable } from './text-table.ts';

export const checkConfig: Command = {
  help: `usage: toncache check-config [--all] [--json]

Reads the settings as start does. If some are wrong, names every problem; otherwise prints each setting with its value
and where it comes from. Secrets are not shown. Nothing is connected to.

  --all    defaults too, not only what is set
  --json   {"settings":[{"name","value","from","source"}],"warnings":[]}, or {"problems":[]}

example:
  CONFIG_FILE=config/shared.json UPSTREAM_URL=http://indexer:8081 toncache check-config

exit codes: 0 the settings are right, 64 wrong command line, 78 wrong settings`,

  async run(args, { env, stdout }) {
    const { values, positionals } = readOptions(args, {
      all: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    });
    expectNoMore(positionals);
    try {
      const { sources, warnings } = loadSettings(env);
      const shown = values.all ? sources : sources.filter(({ from }) => from !== 'default');
      if (values.json) {
        stdout.write(`${JSON.stringify({ settings: shown, warnings })}\n`);
      } else {
        stdout.write(textTable(['setting', 'value', 'from'], shown.map(row)));
        if (!values.all)
          stdout.write(`${sources.length - shown.length} others have their defaults (--all shows them)\n`);
        for (const warning of warnings) stdout.write(`warning: ${warning}\n`);
      }
      return EXIT.ok;
    } catch (error) {
      if (!(error instanceof SettingsError) || !values.json) throw error;
      stdout.write(`${JSON.stringify({ problems: error.problems })}\n`);
      return EXIT.config;
    }
  },
};

function row({ name, value, from, source }: Sourced): string[] {
  return [name, value === undefined ? 'not set' : String(value), source === undefined ? from : `${from} ${source}`];
}
