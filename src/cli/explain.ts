import type { Explanation } from '../answer/explain.ts';
import { describeExplanation } from '../operate/describe-explanation.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, EXIT, UsageError } from './command.ts';
import { readOptions, readSettings } from './options.ts';

export const explain: Command = {
  help: `usage: toncache explain <URL or query> [--header 'Name: value']... [--body JSON] [--admin URL] [--json]

Shows how a running instance reads a request: the request to the indexer, the key, the dropped inputs, the indexers that
may get it, the possible TTLs, and the responses in memory and Redis. Or shows why the request is not cached.

  --header    a header of the request, such as 'X-Actions-Version: latest'; may be repeated
  --body      the body of a POST, such as '{"address":"...","method":"get_wallet_data","stack":[]}'
  --admin     the admin port; by default the one in the settings. ADMIN_TOKEN is sent if it is set
  --json      print JSON; durations are in milliseconds

example:
  toncache explain 'https://ton.example/api/v3/pendingTraces?account=EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N&_=1'

exit codes: 0 explained, 1 the request would be refused or is not cached, 64 wrong command line, 69 no response, 78 wrong settings`,

  async run(args, context) {
    const options = {
      header: { type: 'string', multiple: true, default: [] as string[] },
      body: { type: 'string' },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
    } as const;
    const { values, positionals } = readOptions(args, options, true);
    const [target, ...more] = positionals;
    if (target === undefined || more.length > 0) throw new UsageError('one URL or query is expected, in quotes');
    const query = new URLSearchParams({ target });
    for (const line of values.header) query.append('header', line);
    if (values.body !== undefined) query.set('body', values.body);
    const client = new AdminClient(values.admin, readSettings(context));
    const { status, text, reply } = await client.askJson<Explanation & { readonly error?: string }>(
      `/explain?${query}`,
    );
    if (values.json) context.stdout.write(`${text}\n`);
    else if (status === 200) context.stdout.write(describeExplanation(reply));
    else
      context.stderr.write(
        `${status === 501 ? 'nothing is cached for it' : 'the request would be refused'}: ${reply.error}\n`,
      );
    return status === 200 && !('notCached' in reply) ? EXIT.ok : EXIT.failed;
  },
};
