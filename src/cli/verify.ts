import { SettingsError } from '../config/load.ts';
import { integer } from '../config/values.ts';
import { UnreachableError } from '../tools/verify/asker.ts';
import { verify as runVerify } from '../tools/verify/verify.ts';
import { type Command, EXIT, UnavailableError, UsageError } from './command.ts';
import { optionOf, readOptions } from './options.ts';

export const verify: Command = {
  help: `usage: toncache verify http://indexer:8081/api/v3 [--rate 1] [--samples 5]

Sends requests to an indexer through toncache, which runs in this process, and compares its responses with the indexer's.
Sends only GET requests, at most at --rate. UPSTREAM_API_KEY is the indexer's key, or UPSTREAM_API_KEY_FILE names its file.
A login belongs in the address: https://user:password@host.

  --rate     requests to the indexer per second, 0.01 to 1000 (1)
  --samples  the number of blocks, transactions and accounts, 1 to 100 (5)

exit codes:
  ${EXIT.ok}   everything was checked, and is right
  ${EXIT.failed}   a response is wrong
  ${EXIT.usage}  the command line is wrong
  ${EXIT.unavailable}  the indexer cannot be reached, or refuses the key
  ${EXIT.incomplete}  nothing is wrong, but a part could not be checked: the last lines show which, and why`,

  async run(args, { env, stdout, stderr }) {
    const options = { rate: { type: 'string', default: '1' }, samples: { type: 'string', default: '5' } } as const;
    const { values, positionals } = readOptions(args, options, true);
    const [url, ...more] = positionals;
    if (url === undefined || more.length > 0) throw new UsageError('one address of an indexer is expected');
    const rate = /^[0-9.]+$/.test(values.rate) ? Number(values.rate) : Number.NaN;
    if (!(rate >= 0.01 && rate <= 1000)) throw new UsageError('--rate is not valid; accepted: 0.01 to 1000');
    const samples = optionOf('--samples', values.samples, integer(1, 100));
    const { UPSTREAM_API_KEY, UPSTREAM_API_KEY_FILE } = env;
    const key = { UPSTREAM_API_KEY, UPSTREAM_API_KEY_FILE };
    try {
      const { violation, unclear } = await runVerify({ url, key, rate, samples, stdout, stderr });
      if (violation > 0) return EXIT.failed;
      return unclear > 0 ? EXIT.incomplete : EXIT.ok;
    } catch (error) {
      if (error instanceof SettingsError) throw new UsageError(error.message);
      if (error instanceof UnreachableError) throw new UnavailableError(`verify: ${error.message}`);
      throw error;
    }
  },
};
