import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { MessageReader, wordsOf } from './resp-messages.ts';

/** True if this command, by its words, is answered with garbage. */
export type IsGarbled = (words: readonly string[]) => boolean;

/** The replacement of a reply. */
export interface Garbage {
  readonly bytes: string;
  readonly isGarbled: IsGarbled;
  /**
   * Sent immediately on every open connection, and on each new one after its first command, in addition to the replies.
   */
  readonly unasked?: boolean;
}

/**
 * A Redis that works except in one place: it stands in front of a real one on this machine and answers the commands of
 * that place with bytes of the test. Each connection is served command by command, so that every reply has its place.
 */
export class GarblingRedis implements AsyncDisposable {
  readonly port: number;
  /** The number of garbage replies. */
  garbled = 0;
  /** The number of opened connections. */
  connections = 0;
  readonly #sockets: Set<Socket>;
  readonly #stop: () => Promise<void>;
  #garbage: Garbage | undefined;

  private constructor(port: number, sockets: Set<Socket>, stop: () => Promise<void>) {
    this.port = port;
    this.#sockets = sockets;
    this.#stop = stop;
  }

  static async start(redisPort: number): Promise<GarblingRedis> {
    const sockets = new Set<Socket>();
    const server = createServer({ noDelay: true }, (client) => {
      sockets.add(client);
      client.once('close', () => sockets.delete(client));
      void serve(client, redisPort, started);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const started: GarblingRedis = new GarblingRedis(port, sockets, async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    });
    return started;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** From now on replies at this place are garbage; with `undefined`, none are. */
  garble(garbage?: Garbage): void {
    this.#garbage = garbage;
    if (garbage?.unasked) for (const socket of this.#sockets) this.send(socket, garbage.bytes);
  }

  /** Breaks all connections, so that clients connect again. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The garbage for a command, if it is at the place. */
  garbageFor(words: readonly string[]): string | undefined {
    return this.#garbage?.unasked !== true && this.#garbage?.isGarbled(words) ? this.#garbage.bytes : undefined;
  }

  get unasked(): string | undefined {
    return this.#garbage?.unasked ? this.#garbage.bytes : undefined;
  }

  send(client: Socket, bytes: string): void {
    this.garbled++;
    client.write(bytes, 'latin1');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop();
  }
}

async function serve(client: Socket, redisPort: number, state: GarblingRedis): Promise<void> {
  state.connections++;
  const redis = connect(redisPort, '127.0.0.1').setNoDelay();
  for (const socket of [client, redis]) {
    socket.on('error', () => {});
    socket.on('close', () => {
      client.destroy();
      redis.destroy();
    });
  }
  const commands = new MessageReader();
  const replies = new MessageReader();
  const waiting: Buffer[] = [];
  let busy = false;
  let served = 0;

  const next = () => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) {
      const words = wordsOf(command);
      const garbage = state.garbageFor(words);
      if (garbage !== undefined) state.send(client, garbage);
      else {
        busy = true;
        redis.write(command);
        return;
      }
    }
  };
  redis.on('data', (chunk: Buffer) => {
    for (const reply of replies.read(chunk)) {
      client.write(reply);
      busy = false;
      if (served++ === 0 && state.unasked !== undefined) state.send(client, state.unasked);
    }
    if (!busy) next();
  });
  client.on('data', (chunk: Buffer) => {
    waiting.push(...commands.read(chunk));
    if (!busy) next();
  });
}
