import type { Launch, RunningRedis } from './redis-process.ts';

/** True if a container engine answers. Loads testcontainers, which takes a second: use it last. */
export async function dockerAnswers(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/**
 * Starts `redis:7` in a container and resolves when it accepts connections; testcontainers removes it if this process
 * ends first. Limits compared with a process: only `port` is reachable, so servers cannot reach each other at 127.0.0.1
 * (replication, Cluster, Sentinel), files of this machine are not visible to it (TLS), and a restart forgets its files.
 */
export async function launchRedisContainer({ port, args }: Omit<Launch, 'program' | 'dir'>): Promise<RunningRedis> {
  const { GenericContainer, Wait, getContainerRuntimeClient } = await import('testcontainers');
  const settings = ['--bind', '0.0.0.0', '--protected-mode', 'no', '--port', String(port), '--save', ''];
  const said: string[] = [];
  const container = await new GenericContainer('redis:7')
    .withCommand(['redis-server', ...settings, '--appendonly', 'no', ...args])
    .withExposedPorts({ container: port, host: port })
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .withLogConsumer((log) => log.on('data', (chunk) => said.push(String(chunk))))
    .start()
    .catch((cause: unknown) => {
      throw new Error(`redis-server ended before it was ready: ${cause}\n${said.join('')}`, { cause });
    });
  const handle = (await getContainerRuntimeClient()).container.getById(container.getId());
  let removed = false;

  return {
    // As for a process: tests replace it by a name.
    host: container.getHost() === 'localhost' ? '127.0.0.1' : container.getHost(),
    pid: (await handle.inspect()).State.Pid,
    kill: async (signal) => {
      if (removed) return;
      if ((await handle.inspect()).State.Running) {
        await handle.kill({ signal });
        await handle.wait();
      }
      removed = true;
      await container.stop();
    },
    pause: async () => void (await handle.pause()),
    resume: async () => void (await handle.unpause()),
  };
}
