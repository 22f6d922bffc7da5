import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Launched } from '../support/launch.ts';

/** Runs a program in its own network, with copies of the two files about name resolution. */
const IN_NAMESPACE = [
  ...['-mn', 'sh', '-ec'],
  `ip link set lo up
  folder=$(mktemp -d)
  for file in hosts resolv.conf; do cp /etc/$file $folder/; mount --bind $folder/$file /etc/$file; done
  exec "$@"`,
  'sh',
];

const HAS_NAMESPACES = ((): boolean => {
  try {
    execFileSync('unshare', [...IN_NAMESPACE, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Needs root. Elsewhere `names.test.ts` tests the same with an injected resolver. */
describe.runIf(HAS_NAMESPACES)("with the system's resolver", () => {
  it('names that hang or fail over make no miss fail, and a moved name is followed within 10 s', async () => {
    const world = fileURLToPath(new URL('names-world.ts', import.meta.url));
    const child = spawn('unshare', [...IN_NAMESPACE, process.execPath, world], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await using launched = new Launched(child);
    const next = () => launched.next((line) => line as { readonly tried: string; readonly came: unknown });
    expect(await next()).toEqual({ tried: expect.stringContaining('hang'), came: Array(10).fill(200) });
    expect(await next()).toEqual({ tried: expect.stringContaining('/etc/hosts'), came: [200] });
    const { came } = await next();
    expect(came).toBeLessThan(10);
    expect(await next()).toEqual({ tried: expect.stringContaining('failover'), came: Array(30).fill(200) });
  });
});
