#!/usr/bin/env node
import '../require-node-24.cjs';

// Loaded after the check: an older Node may not even be able to link the rest.
const { run } = await import('./run.ts');

const stopping = new AbortController();
let handlesSignals = false;

process.exitCode = await run(process.argv.slice(2), {
  // A program begins here: the environment is read in this place, and handed on.
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  get signal() {
    if (!handlesSignals) handleSignals();
    return stopping.signal;
  },
});

/** The first signal ends the command in good order, a second one at once: Node's own way. */
function handleSignals(): void {
  handlesSignals = true;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stopping.abort());
  // Whoever read our lines has left (`| head`).
  process.stdout.on('error', () => stopping.abort());
}
