import { HELP } from '../tools/verify/parse-arguments.ts';
import { verify as runVerify } from '../tools/verify/verify.ts';
import type { Command } from './command.ts';

export const verify: Command = {
  help: HELP,
  run: (args, { env, stdout, stderr }) => runVerify({ args, apiKey: env['UPSTREAM_API_KEY'], stdout, stderr }),
};
