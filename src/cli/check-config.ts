import { containerLimit, heapLimit } from '../admission/memory-pressure.ts';
import { loadSettings, SettingsError } from '../config/load.ts';
import { clientRoom, openFilesLimit } from '../config/open-files.ts';
import { shownPaths } from '../config/passed-paths.ts';
import type { Sourced } from '../config/setting-source.ts';
import { onOrOff } from '../config/values.ts';
import { memoryWarning } from '../config/warnings.ts';
import { textTable } from '../operate/text-table.ts';
import { type Command, EXIT } from './command.ts';
import { type ConnectCheck, connectChecks } from './connect-checks.ts';
import { readOptions } from './options.ts';

const STARTS_WITHOUT = 'toncache starts without it, and uses it as soon as it answers';

export const checkConfig: Command = {
  help: `usage: toncache check-config [--all] [--connect] [--json]

Reads the settings as start does. If some are wrong, prints every problem; otherwise prints the settings that are set,
with their values and sources. Secrets are not shown. Without --connect, no connection is made.

  --all      also prints the defaults
  --connect  tries all services as toncache uses them: each indexer (key, chain, newest block, operations), Redis and its
             clock, the stream. LACKS: an indexer can be used, with a condition, such as an operation that is not served
  --json     {"settings":[{"name","value","from","source"}],"passedThrough","warnings":[],"checks":[]}, or {"problems":[]}

example:
  CONFIG_FILE=config/shared.json UPSTREAM_URL=http://indexer:8081 toncache check-config

exit codes: 0 the settings are right, 64 wrong command line, 69 no indexer can be used, or a server answered and
refused, 78 wrong settings. If Redis, the stream or some of several indexers cannot be reached, it warns and ends with 0`,

  async run(args, { env, stdout }) {
    const { values } = readOptions(args, {
      all: { type: 'boolean', default: false },
      connect: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    });
    try {
      const { settings, sources, warnings: ofSettings } = loadSettings(env);
      const checks = values.connect ? await connectChecks(settings) : [];
      const missing = checks.filter(({ isWrong, isFatal }) => isWrong && !isFatal);
      const { warning: ofRoom } = clientRoom(settings, openFilesLimit());
      const ofProcess = ofRoom === undefined ? [] : [ofRoom];
      const warnings = [
        ...ofSettings,
        ...ofProcess,
        ...memoryWarning(settings, containerLimit(), heapLimit()),
        ...missing.map(({ service }) => `${service} cannot be reached: ${STARTS_WITHOUT}`),
      ];
      const { enabled, prefixes } = settings.passThrough;
      const passedThrough = shownPaths(enabled, prefixes);
      const shown = values.all ? sources : sources.filter(({ from }) => from !== 'default');
      if (values.json) {
        stdout.write(
          `${JSON.stringify({ settings: shown, passedThrough, warnings, ...(values.connect && { checks }) })}\n`,
        );
      } else {
        stdout.write(textTable(['setting', 'value', 'from'], shown.map(row)));
        stdout.write(`passed through: ${passedThrough}\n`);
        if (!values.all)
          stdout.write(`${sources.length - shown.length} others have their defaults (--all shows them)\n`);
        for (const warning of warnings) stdout.write(`warning: ${warning}\n`);
        if (checks.length > 0) stdout.write(`\n${textTable(['tried', '', 'found'], checks.map(checkRow))}`);
      }
      return checks.some(({ isFatal }) => isFatal) ? EXIT.unavailable : EXIT.ok;
    } catch (error) {
      if (!(error instanceof SettingsError) || !values.json) throw error;
      stdout.write(`${JSON.stringify({ problems: error.problems })}\n`);
      return EXIT.config;
    }
  },
};

function checkRow({ service, found, isWrong, isFatal, isLacking }: ConnectCheck): string[] {
  if (isFatal) return [service, 'WRONG', found];
  if (isWrong) return [service, 'away', found];
  return [service, isLacking === true ? 'LACKS' : 'ok', found];
}

function row({ name, value, from, source }: Sourced): string[] {
  const shown = typeof value === 'boolean' ? onOrOff(value) : String(value ?? 'not set');
  return [name, shown, source === undefined ? from : `${from} ${source}`];
}
