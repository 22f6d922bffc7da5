import { describeStatus } from '../operate/describe-status.ts';
import type { StatusMessage } from '../operate/status/status-pages.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, EXIT, UnavailableError, UsageError } from './command.ts';
import { readOptions, readSettings } from './options.ts';

/** The exit code for each level. */
const CODES: Readonly<Partial<Record<string, number>>> = { OK: EXIT.ok, DEGRADED: EXIT.failed, FAILING: EXIT.failing };

export const status: Command = {
  help: `usage: toncache status [URL] [--json]

Shows how a running instance serves its clients: the first line of its status page, each condition that is failing or
degraded, and each indexer; at most 20 lines of 100 columns.

  URL       the admin port; by default the one in the settings
  --json    print /status.json instead

example:
  toncache status http://127.0.0.1:9464

exit codes: 0 OK, 1 DEGRADED, 2 FAILING, 64 wrong command line, 69 no response, 78 wrong settings`,

  async run(args, context) {
    const { values, positionals } = readOptions(args, { json: { type: 'boolean', default: false } } as const, true);
    const [url, ...more] = positionals;
    if (more.length > 0) throw new UsageError('at most one URL is expected');
    const client = new AdminClient(url, readSettings(context), 'URL');
    const { text, reply } = await client.askJson<StatusMessage>('/status.json');
    const code = CODES[reply.level];
    if (code === undefined) throw new UnavailableError(`${client.url} has another version, without this command`);
    context.stdout.write(values.json ? `${text}\n` : describeStatus(reply));
    return code;
  },
};
