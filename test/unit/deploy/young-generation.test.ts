import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// Without a bound V8's young generation grows to 128 MiB within 100 000 misses (measured).
it.each([
  'package.json',
  'Dockerfile',
  'config/deploy/systemd/toncache.service',
  'config/deploy/systemd/toncache@.service',
])('%s starts toncache with a bound on the young generation of V8', (file) => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
  const started = text.split('\n').filter((line) => /^ *"start":|^ENTRYPOINT|^Environment=NODE_OPTIONS/.test(line));
  expect(started).toEqual([expect.stringContaining('--max-semi-space-size=16')]);
});
