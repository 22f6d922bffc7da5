import { SettingsError } from '../config/load.ts';
import { didYouMean, nearestTo } from '../config/nearest-name.ts';
import { VERSION } from '../version.ts';
import { type Command, type Context, EXIT, UnavailableError, UsageError } from './command.ts';

/** A command in the list. Its file is loaded when the command runs. */
export interface ListedCommand {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** All commands, in the order of the help. */
export const COMMANDS: ReadonlyMap<string, ListedCommand> = new Map([
  ['start', { summary: 'run toncache', load: async () => (await import('./start.ts')).start }],
  [
    'check-config',
    { summary: 'check the settings', load: async () => (await import('./check-config.ts')).checkConfig },
  ],
  ['status', { summary: 'show how clients are served', load: async () => (await import('./status.ts')).status }],
  ['explain', { summary: 'show how a request is cached', load: async () => (await import('./explain.ts')).explain }],
  ['purge', { summary: 'end stored responses', load: async () => (await import('./purge.ts')).purge }],
  ['verify', { summary: 'check toncache against an indexer', load: async () => (await import('./verify.ts')).verify }],
  ['simulator', { summary: 'run a simulated indexer', load: async () => (await import('./simulator.ts')).simulator }],
  ['demo', { summary: 'see it at work, without an indexer', load: async () => (await import('./demo.ts')).demo }],
]);

/** Runs the command in the arguments and returns its exit code. Rejects only for a bug. */
export async function run(args: readonly string[], context: Context): Promise<number> {
  // `help purge` is `purge --help`.
  const [name, ...rest] = args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : args;
  if (name === undefined || name === 'help' || isHelp(name)) {
    (name === undefined ? context.stderr : context.stdout).write(listOfCommands());
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  if (name === '--version' || name === '-v' || name === '-V') {
    context.stdout.write(`${VERSION}\n`);
    return EXIT.ok;
  }
  const listed = COMMANDS.get(name);
  if (listed === undefined) {
    const nearest = nearestTo(name, [...COMMANDS.keys(), '--version', '--help', 'help']);
    context.stderr.write(`toncache has no command "${name}"${didYouMean(nearest)}\n\n${listOfCommands()}`);
    return EXIT.usage;
  }
  try {
    const command = await listed.load();
    if (rest.some(isHelp)) {
      context.stdout.write(`${command.help}\n`);
      return EXIT.ok;
    }
    return await command.run(rest, context);
  } catch (error) {
    return report(error, name, context);
  }
}

function report(error: unknown, name: string, { stderr }: Context): number {
  if (error instanceof UsageError) {
    stderr.write(`${error.message}\ntoncache ${name} --help shows its usage\n`);
    return EXIT.usage;
  }
  if (error instanceof UnavailableError) {
    stderr.write(`${error.message}\n`);
    return EXIT.unavailable;
  }
  if (error instanceof SettingsError) {
    stderr.write(`these settings are wrong:\n${error.problems.map((problem) => `  ${problem}\n`).join('')}`);
    return EXIT.config;
  }
  if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
    const command = `npm ci && npm run ${name}`;
    stderr.write(`${name} is not part of the installed package: run "${command}" in a checkout (${error.message})\n`);
    return EXIT.unavailable;
  }
  throw error;
}

function isHelp(arg: string): boolean {
  return arg === '--help' || arg === '-h';
}

function listOfCommands(): string {
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(13)} ${summary}\n`);
  return (
    `usage: toncache <command> [options]\n\n${lines.join('')}\n` +
    `toncache --version (-v) shows the version, toncache help <command> the options of a command and an example. In a checkout: npm run toncache -- <command>\n`
  );
}
