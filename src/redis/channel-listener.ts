import type { Redis } from 'ioredis';
import { GOOD_AFTER_MS } from './lasting-connections.ts';
import { reconnectDelayMs } from './open-client.ts';

/** A connection that only listens does not notice that its server hangs, so it sends a PING this often. */
const PING_EVERY_MS = 500;

/**
 * The one connection that listens to channels. When it is lost, a new one is opened, perhaps to another server, and
 * subscribes to all channels again. Messages published meanwhile are lost.
 */
export class ChannelListener {
  readonly #open: () => Redis;
  readonly #listeners = new Map<string, ((message: Buffer) => void)[]>();
  #connection: Redis | undefined;
  #attempt = 0;
  #pause: NodeJS.Timeout | undefined;
  #closed = false;

  /** `open` starts a connection that does not reconnect by itself. */
  constructor(open: () => Redis) {
    this.#open = open;
  }

  /** Adds a listener; the first channel opens the connection. A channel may have several listeners. Never throws. */
  listen(channel: string, onMessage: (message: Buffer) => void): void {
    if (this.#closed) return;
    const listeners = this.#listeners.get(channel);
    if (listeners !== undefined) {
      listeners.push(onMessage);
      return;
    }
    this.#listeners.set(channel, [onMessage]);
    if (this.#connection?.status === 'ready') void this.#subscribe(this.#connection, [channel]);
    else if (this.#connection === undefined && this.#pause === undefined) this.#connect();
  }

  /** Closes the connection for good. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#pause);
    this.#connection?.disconnect();
  }

  #connect(): void {
    const connection = this.#open();
    this.#connection = connection;
    // Errors are ignored here: the connection for commands reports why Redis cannot be reached.
    connection.on('error', () => {});
    connection.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      if (!Buffer.isBuffer(message)) throw new Error('a published message is not a string');
      // Call listeners in a later turn: an error that one throws is a bug of ours, and would be taken for a broken
      // protocol here.
      for (const onMessage of this.#listeners.get(channel.toString()) ?? []) process.nextTick(onMessage, message);
    });
    connection.once('ready', () => void this.#subscribe(connection, [...this.#listeners.keys()]));
    const pinging = setInterval(() => {
      if (connection.status === 'ready') connection.ping().catch(() => connection.disconnect());
    }, PING_EVERY_MS);
    const lasting = setTimeout(() => {
      this.#attempt = 0;
    }, GOOD_AFTER_MS).unref();
    connection.once('end', () => {
      clearInterval(pinging);
      clearTimeout(lasting);
      this.#connection = undefined;
      if (this.#closed) return;
      this.#attempt++;
      this.#pause = setTimeout(() => {
        this.#pause = undefined;
        this.#connect();
      }, reconnectDelayMs(this.#attempt));
    });
  }

  async #subscribe(connection: Redis, channels: readonly string[]): Promise<void> {
    try {
      const count = await connection.subscribe(...channels);
      const isRight = typeof count === 'number' && count >= channels.length && count <= this.#listeners.size;
      if (!isRight) throw new Error('Redis gave no answer to SUBSCRIBE');
    } catch {
      // SUBSCRIBE was refused or not answered: try again on a new connection.
      connection.disconnect();
    }
  }
}
