import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Launched } from '../support/launch.ts';

/** Runs a program in its own network, where the system hands connections to another listener when one closes. */
const IN_NAMESPACE = [
  '-rn',
  'sh',
  '-ec',
  'ip link set lo up; echo 1 >/proc/sys/net/ipv4/tcp_migrate_req; exec "$@"',
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

describe.runIf(HAS_NAMESPACES)('processes that share a port', () => {
  it('are restarted one after the other, and no request on a new connection is lost', async () => {
    const world = fileURLToPath(new URL('restart-world.ts', import.meta.url));
    const child = spawn('unshare', [...IN_NAMESPACE, process.execPath, world], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await using launched = new Launched(child);
    const { answered, lost } = await launched.next(
      (line) => line as { readonly answered: number; readonly lost: string[] },
    );
    expect(lost).toEqual([]);
    expect(answered).toBeGreaterThan(500);
  });
});
