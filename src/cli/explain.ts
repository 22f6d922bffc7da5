import { type ExplainedRequest, type Explanation, explainRequest } from '../answer/explain.ts';
import type { Settings } from '../config/schema.ts';
import { ProxyError } from '../errors.ts';
import { describeExplanation } from '../operate/describe-explanation.ts';
import { readHeaderLines, readPasted } from '../ton/explain-call.ts';
import { AdminClient } from './admin-client.ts';
import { type Command, type Context, EXIT, UsageError } from './command.ts';
import { readOptions, readSettings } from './options.ts';

export const explain: Command = {
  help: `usage: toncache explain <URL or query> [--header 'Name: value']... [--offline] [--admin URL] [--json]

Says what a request means: what the indexer is asked, the key, which inputs are dropped, how long an answer can live.
A running instance also says what memory and Redis hold.

  --header    a header of the request, such as 'X-Actions-Version: latest'; may be repeated
  --offline   from the settings alone, without a running instance
  --admin     the admin port; by default that of the settings. ADMIN_TOKEN is sent if it is set
  --json      print it as JSON; durations are in milliseconds

example:
  toncache explain 'https://ton.example/api/v3/pendingTraces?account=EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N&_=1'

exit codes: 0 explained, 1 the request would be refused, 64 wrong command line, 69 no answer, 78 wrong settings`,

  async run(args, context) {
    const { values, positionals } = readOptions(args, {
      header: { type: 'string', multiple: true, default: [] },
      offline: { type: 'boolean', default: false },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
    });
    const [text, ...more] = positionals;
    if (text === undefined || more.length > 0) throw new UsageError('one URL or query is expected, in quotes');
    const settings = readSettings(context);
    const found = values.offline
      ? explainOffline(text, values.header, settings)
      : await askInstance(text, values.header, values.admin, settings);
    if ('error' in found) return refuse(found.error, values.json, context);
    context.stdout.write(values.json ? `${JSON.stringify(found)}\n` : describeExplanation(found));
    return EXIT.ok;
  },
};

type Found = ExplainedRequest | Explanation | { readonly error: string };

function explainOffline(text: string, lines: readonly string[], settings: Settings): Found {
  try {
    return explainRequest(readPasted(text), readHeaderLines(lines), {
      network: settings.network,
      policies: settings.lifetimes,
    });
  } catch (error) {
    if (error instanceof ProxyError) return { error: error.message };
    throw error;
  }
}

async function askInstance(
  text: string,
  headers: readonly string[],
  admin: string | undefined,
  settings: Settings,
): Promise<Found> {
  const query = new URLSearchParams([['target', text], ...headers.map((line): [string, string] => ['header', line])]);
  return JSON.parse((await new AdminClient(admin, settings).ask(`/explain?${query}`)).text);
}

function refuse(error: string, asJson: boolean, { stdout, stderr }: Context): number {
  if (asJson) stdout.write(`${JSON.stringify({ error })}\n`);
  else stderr.write(`the request would be refused: ${error}\n`);
  return EXIT.failed;
}
