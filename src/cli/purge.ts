import { ProxyError } from '../errors.ts';
import { parsePurge } from '../ton/purge-selector.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, EXIT, UsageError } from './command.ts';
import { readOptions, readSettings } from './options.ts';

/** The answer of the admin port. */
interface Reply {
  readonly purged?: Readonly<Record<string, unknown>>;
  readonly at?: number;
  readonly instances?: number;
  readonly error?: string;
}

export const purge: Command = {
  help: `usage: toncache purge (--seqno N | --account A | --hash H | --all) [--admin URL] [--json]

Removes every stored response to requests with this value, in any spelling, in all instances on the same Redis. Without
Redis the purge reaches one instance.

  --seqno, --account, --hash   the value: of a masterchain block, an account, or a transaction or message
  --all                        every stored response
  --admin                      the admin port; by default the one in the settings. ADMIN_TOKEN is sent if it is set
  --json                       print the admin port's response

example:
  toncache purge --seqno 62000000

exit codes: 0 purged, 1 purged in this instance only, 64 wrong command line, 69 no response or refused, 78 wrong settings`,

  async run(args, context) {
    const { values } = readOptions(args, {
      seqno: { type: 'string' },
      account: { type: 'string' },
      hash: { type: 'string' },
      all: { type: 'boolean' },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
    });
    const { admin, json, ...body } = values;
    checkSelector(body);
    const client = new AdminClient(admin, readSettings(context));
    const { status, text, reply } = await client.askJson<Reply>('/purge', { body });
    if (status === 422) throw new UsageError(reply.error);
    if (json) context.stdout.write(`${text}\n`);
    else if (status === 200) context.stdout.write(`${inWords(reply)}\n`);
    else context.stderr.write(`${reply.error}\n`);
    return status === 200 ? EXIT.ok : EXIT.failed;
  },
};

/** Throws a {@link UsageError} if the admin port would refuse these options. */
function checkSelector(options: object): void {
  try {
    parsePurge(options);
  } catch (error) {
    throw error instanceof ProxyError ? new UsageError(error.message) : error;
  }
}

function inWords({ purged = {}, at = 0, instances }: Reply): string {
  const [[selector, value] = []] = Object.entries(purged);
  const what = selector === 'all' ? 'everything' : `${selector} ${value}`;
  // An older instance does not return it.
  const where = instances === undefined ? '' : ` in ${instances} ${instances === 1 ? 'instance' : 'instances'}`;
  return `purged ${what}${where}: all responses requested before ${new Date(at).toISOString()}`;
}
