import { verify } from './verify.ts';

process.exitCode = await verify({
  args: process.argv.slice(2),
  apiKey: process.env['UPSTREAM_API_KEY'],
  stdout: process.stdout,
  stderr: process.stderr,
});
