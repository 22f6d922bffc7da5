import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely } from 'node:tls';
import { AbstractConnector, type RedisOptions, type SentinelAddress, SentinelConnector } from 'ioredis';
import type { Names } from '../names/names.ts';
import type { Ms } from '../time-units.ts';

/**
 * The type of ioredis' option `Connector`: it is built from the options of the client, and opens one connection after
 * the other.
 */
type Connector = NonNullable<RedisOptions['Connector']>;

/** Members of a `SentinelConnector` that have no public access. */
interface SentinelMembers {
  connect(onError: (type: string, error: Error) => void): Promise<Socket>;
  connectToSentinel(endpoint: SentinelAddress, options?: RedisOptions): unknown;
  resolve(endpoint: SentinelAddress): Promise<SentinelAddress | null>;
}

type OpenSentinelConnector = new (options: RedisOptions) => SentinelMembers;

/**
 * How ioredis connects by names: to a server or a node of a Cluster (`toServer`), and to the primary that sentinels
 * name (`bySentinels`). ioredis' own connectors have no `lookup` option. They listen only to the first error of a
 * socket: a TLS socket that refused a certificate may get the server's alert as a second one, which would end the
 * process.
 */
export function connectorsBy(names: Names, connectTimeoutMs: Ms): Record<'toServer' | 'bySentinels', Connector> {
  const how = names.optionsOf(connectTimeoutMs);
  const watched = <S extends Socket>(stream: S, tls: ConnectionOptions | undefined): S => {
    const connected = tls === undefined ? 'connect' : 'secureConnect';
    names.watch(stream, connected);
    stream.once(connected, () => inOneWrite(stream));
    return stream.on('error', () => {});
  };

  class ToServer extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: RedisOptions) {
      super(options.disconnectTimeout ?? 0);
      this.#options = options;
    }

    async connect(): Promise<Socket> {
      const { host = '', port = 0, tls } = this.#options;
      this.connecting = true;
      const to = { host, port, ...how };
      this.stream = watched(tls === undefined ? connect(to) : connectSecurely({ ...to, ...tls }), tls);
      this.stream.once('error', (error) => {
        this.firstError = error;
      });
      return this.stream;
    }
  }

  // The cast: the members that are overridden have no public access in ioredis' types.
  class BySentinels extends (SentinelConnector as unknown as OpenSentinelConnector) {
    readonly #tls: ConnectionOptions | undefined;

    constructor(options: RedisOptions) {
      super(options);
      this.#tls = options.enableTLSForSentinelMode ? options.tls : undefined;
    }

    override connectToSentinel(endpoint: SentinelAddress): unknown {
      return super.connectToSentinel(endpoint, { Connector: ToServer as Connector });
    }

    override async resolve(endpoint: SentinelAddress): Promise<SentinelAddress | null> {
      const primary = await super.resolve(endpoint);
      // ioredis passes this object on to `net.connect` or `tls.connect`.
      return primary === null ? null : { ...primary, ...how };
    }

    override async connect(onError: (type: string, error: Error) => void): Promise<Socket> {
      return watched(await super.connect(onError), this.#tls);
    }
  }

  // The casts: ioredis declares more members than these classes show, all of which its own base classes have.
  return { toServer: ToServer as Connector, bySentinels: BySentinels as unknown as Connector };
}

/**
 * Sends the commands of the handshake in one write. A server in protected mode sends an error and closes the connection
 * immediately: a second write would fail, and end the socket before the error is read.
 */
function inOneWrite(socket: Socket): void {
  socket.cork();
  setImmediate(() => socket.uncork());
}
