import { once } from 'node:events';
import { connect } from 'node:net';

/** The commands that clients send to a Redis, as MONITOR shows them. */
export interface RedisMonitor extends Disposable {
  /** The names and arguments of each command, oldest first. */
  readonly commands: readonly (readonly string[])[];
}

/** Watches the Redis at a URL from now on. `withScripts`: also the commands of scripts. */
export async function monitorRedis(url: string, { withScripts = false } = {}): Promise<RedisMonitor> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const commands: string[][] = [];
  let read = '';
  socket.setEncoding('utf8');
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  socket.on('data', (text: string) => {
    const lines = (read + text).split('\r\n');
    read = lines.pop() ?? '';
    for (const line of lines) {
      const [, source = '', words = ''] = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/.exec(line) ?? [];
      if (withScripts || source !== 'lua')
        commands.push([...words.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word));
    }
  });
  return { commands, [Symbol.dispose]: () => void socket.destroy() };
}
