#!/usr/bin/env node
import '../require-node-24.cjs';

// libuv reads this when it needs its first thread. Look-ups of names may occupy half of the threads, each until the
// resolver answers. With libuv's default of four, two names that hang would stop all others.
process.env['UV_THREADPOOL_SIZE'] ??= '16';

// Imported after the check of the version, because an older Node may fail to load the rest.
const { run } = await import('./run.ts');
const { onEndingSignal } = await import('./ending-signals.ts');

/** The cause of a command's end, in words. */
const ENDED_BY: Readonly<Record<string, string>> = { SIGINT: 'Ctrl-C', SIGHUP: 'its terminal' };

const stopping = new AbortController();
let handlesSignals = false;

process.exitCode = await run(process.argv.slice(2), {
  // The program starts here, so this is where it reads its environment.
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  get signal() {
    if (!handlesSignals) handleSignals();
    return stopping.signal;
  },
});

/** The first signal ends the command in good order, a second one immediately. */
function handleSignals(): void {
  handlesSignals = true;
  onEndingSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => stopping.abort(ENDED_BY[signal] ?? signal));
  // The reader of the output has gone (`| head`).
  process.stdout.on('error', () => stopping.abort('its reader'));
}
