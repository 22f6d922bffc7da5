import { publicUrlOf } from '../config/own-urls.ts';
import { type Command, EXIT, type Output, UnavailableError, UsageError } from './command.ts';
import { baseUrl, expectNoMore, readOptions, readSettings, wholeNumber } from './options.ts';
import { warmBlocks } from './warm-blocks.ts';
import { WarmProgress } from './warm-progress.ts';

const MAX_SEQNO = 2_147_483_647;

export const warm: Command = {
  help: `usage: toncache warm --from-seqno A --to-seqno B [--rps N] [--url URL] [--json]

Asks toncache for the masterchain blocks from A to B, so that they are stored before clients ask. What is stored already
costs the indexer nothing. Waits as long as toncache says when it refuses (503, 429).

  --rps     requests a second, 1 to 1000 (10)
  --url     the public port; by default that of the settings
  --json    print the result as JSON

Ctrl-C stops it; it then prints the command that goes on from there.

example:
  toncache warm --from-seqno 62000000 --to-seqno 62010000 --rps 50

exit codes: 0 all asked for, 64 wrong command line, 69 no answer, 75 stopped before the end, 78 wrong settings`,

  async run(args, context) {
    const { values, positionals } = readOptions(args, {
      'from-seqno': { type: 'string' },
      'to-seqno': { type: 'string' },
      rps: { type: 'string', default: '10' },
      url: { type: 'string' },
      json: { type: 'boolean', default: false },
    });
    expectNoMore(positionals);
    const from = wholeNumber('--from-seqno', values['from-seqno'], 0, MAX_SEQNO);
    const to = wholeNumber('--to-seqno', values['to-seqno'], 0, MAX_SEQNO);
    const perSecond = wholeNumber('--rps', values.rps, 1, 1000);
    if (to < from) throw new UsageError('--to-seqno must not be smaller than --from-seqno');
    const url = baseUrl('--url', values.url) ?? publicUrlOf(readSettings(context).http);
    const { stdout, stderr, signal } = context;
    const progress = new WarmProgress({ out: values.json ? stderr : stdout, blocks: to - from + 1 });
    const warmed = await warmBlocks({ url, from, to, perSecond, signal, onAnswer: progress.show });
    progress.end(warmed);
    if (values.json) stdout.write(`${JSON.stringify(warmed)}\n`);
    if (warmed.next === undefined) return EXIT.ok;
    printResume(
      stderr,
      warmed.next,
      `--to-seqno ${to} --rps ${perSecond}${values.url === undefined ? '' : ` --url ${url}`}`,
    );
    if (warmed.failure !== undefined) throw new UnavailableError(warmed.failure);
    return EXIT.incomplete;
  },
};

function printResume(out: Output, next: number, others: string): void {
  out.write(`stopped; to go on: toncache warm --from-seqno ${next} ${others}\n`);
}
