import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startFakeIndexer } from '../bench/peers/fake-indexer.ts';
import { hitTarget } from '../bench/peers/targets.ts';
import { ProxyProcess } from '../support/proxy-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const MIB = 1024 * 1024;
const GUARD_MS = 280_000;

/** Answers of these sizes in KB, each many times the memory tier of 64 MiB, by this many clients. */
const LOADS = [
  { sizeKb: 2, count: 40_000, clients: 32 },
  { sizeKb: 5, count: 20_000, clients: 32 },
  { sizeKb: 30, count: 6000, clients: 64 },
  { sizeKb: 200, count: 1200, clients: 64 },
];

/** The part of the container that a loaded sidecar may use: the rest is the margin of what ships. */
const MOST = 0.92;

const manifest = readFileSync(new URL('../../config/deploy/kubernetes/sidecar.yaml', import.meta.url), 'utf8');
const variable = (name: string) => RegExp(`name: ${name}, value: "?([^"]+?)"? }`).exec(manifest)?.[1] ?? '';

test('a sidecar with its shipped limits fits into its container while it loads answers of every size, plain and gzip', async () => {
  await using indexer = await startFakeIndexer();
  const proxy = await ProxyProcess.start(
    {
      UPSTREAM_URL: indexer.url,
      CONFIG_FILE: 'config/sidecar.json',
      NODE_OPTIONS: variable('NODE_OPTIONS'),
      MALLOC_ARENA_MAX: variable('MALLOC_ARENA_MAX'),
    },
    GUARD_MS,
    { args: ['dist/cli/main.js', 'start'], cwd: ROOT },
  );
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  let asked = 0;
  for (const encoding of ['identity', 'gzip']) {
    for (const { sizeKb, count, clients } of LOADS) {
      const agent = new Agent({ keepAlive: true, maxSockets: clients });
      const last = asked + count;
      const client = async () => {
        while (asked < last) await loadOnce(`${proxy.url}${hitTarget({ sizeKb }, asked++)}`, encoding, agent);
      };
      await Promise.all(Array.from({ length: clients }, client));
      agent.destroy();
    }
  }
  const limitBytes = Number(/limits:\s+memory: (\d+)Mi/.exec(manifest)?.[1]) * MIB;
  expect(await highestRss(proxy.pid)).toBeLessThan(MOST * limitBytes);
});

/** Resolves when the answer was read; it may be a refusal, because the load is above the capacity. */
function loadOnce(url: string, encoding: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'accept-encoding': encoding } }, (response) => {
      response.resume().once('end', resolve);
    }).on('error', reject);
  });
}

/** The highest resident memory of a process so far, in bytes. */
async function highestRss(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
