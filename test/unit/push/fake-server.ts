import type { OpenSocket, SocketHandlers } from '../../../src/push/socket.ts';

/** An operation of the Streaming API, as the client sent it. */
export interface Operation {
  readonly operation: string;
  readonly id: string;
  readonly types?: readonly string[];
  readonly addresses?: readonly string[];
  readonly trace_external_hash_norms?: readonly string[];
  readonly min_finality?: string;
}

/** One connection, from the server's side. */
export class FakeSocket {
  readonly handlers: SocketHandlers;
  readonly received: Operation[] = [];
  isClosed = false;

  readonly #server: FakeServer;

  constructor(server: FakeServer, handlers: SocketHandlers) {
    this.#server = server;
    this.handlers = handlers;
  }

  /** All operations except pings: `subscribe` and `unsubscribe`. */
  get subscriptions(): readonly Operation[] {
    return this.received.filter(({ operation }) => operation !== 'ping');
  }

  /** Opens the connection, and answers the ping that follows unless the server answers pings by itself. */
  accept(): void {
    this.handlers.onOpen();
    if (!this.#server.answersPings) this.say({ id: 'ping', status: 'pong' });
  }

  say(message: object): void {
    this.handlers.onMessage(JSON.stringify(message));
  }

  /** Acknowledges the newest `subscribe` or `unsubscribe`. */
  acknowledge(): void {
    const { id, operation } = this.subscriptions.at(-1) ?? {};
    this.say({ id, status: `${operation}d` });
  }

  refuse(error: string): void {
    this.say({ id: this.subscriptions.at(-1)?.id, error });
  }
}

/** A Streaming API without a network, with every connection that was opened to it. */
export class FakeServer {
  readonly sockets: FakeSocket[] = [];
  /** If true, the server answers pings by itself. By default it sends nothing by itself. */
  answersPings = false;

  readonly open: OpenSocket = (handlers) => {
    const socket = new FakeSocket(this, handlers);
    this.sockets.push(socket);
    return {
      send: (text) => {
        const operation: Operation = JSON.parse(text);
        socket.received.push(operation);
        if (this.answersPings && operation.operation === 'ping') socket.say({ id: operation.id, status: 'pong' });
      },
      close: () => {
        socket.isClosed = true;
      },
    };
  };

  /** The newest connection. */
  get socket(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error('nobody has connected');
    return socket;
  }
}
