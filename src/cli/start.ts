import { type Command, EXIT } from './command.ts';
import { readOptions } from './options.ts';

export const start: Command = {
  help: `usage: toncache start

Runs toncache until SIGTERM or SIGINT. Settings come from the environment and the file that CONFIG_FILE names.

example:
  UPSTREAM_URL=http://indexer:8081 REDIS_URL=redis://127.0.0.1 toncache start

exit codes: 0 ended by a signal, 1 cannot listen, 64 wrong command line, 78 wrong settings`,

  async run(args) {
    readOptions(args, {});
    // Importing the module runs the service, as `npm start` does. It ends the process itself.
    await import('../main.ts');
    return EXIT.ok;
  },
};
