import { ADDRCONFIG, type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { inMap } from '../in-map.ts';
import { isShortage, shortageOfFiles } from '../shortage.ts';
import type { MonotonicMs, Ms } from '../time-units.ts';
import { Name } from './name.ts';

/** Asks the resolver, as `dns.lookup` does: search domains and `/etc/hosts` count. */
export type AskResolver = (
  host: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** RFC 6761, section 6.3: no look-up is needed. */
const LOCALHOST: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * The addresses of all hosts that this process connects to. Each look-up of the system occupies one of libuv's few
 * threads until the resolver answers: 10 s and more. So one look-up of a name serves all connections of some seconds,
 * and a name that hangs occupies one thread. Names come from the settings, and from a Redis Cluster or sentinels: they
 * are few, and none is forgotten.
 */
export class Names {
  readonly #askResolver: AskResolver;
  readonly #now: () => MonotonicMs;
  readonly #names = new Map<string, Name>();

  constructor(askResolver: AskResolver, now: () => MonotonicMs) {
    this.#askResolver = askResolver;
    this.#now = now;
  }

  /** The addresses of a host, which may be an address itself. Rejects with the resolver's error. */
  async find(host: string): Promise<readonly LookupAddress[]> {
    const family = isIP(host);
    if (family !== 0) return [{ address: host, family }];
    if (host.toLowerCase() === 'localhost') return LOCALHOST;
    return this.#nameOf(host).find();
  }

  /** See {@link Name}. */
  failed(host: string, addresses: readonly string[]): void {
    this.#nameOf(host).failed(addresses);
  }

  /**
   * Options of `net.connect` and `tls.connect` to find a host. Each of two addresses gets half of `timeoutMs`, the
   * timeout of opening a connection: by default Node gives up the first one after 250 ms.
   */
  optionsOf(timeoutMs: Ms) {
    const half = Math.ceil(timeoutMs / 2);
    return { lookup: this.lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: half };
  }

  /** {@link find} in the form that `net.connect` and `tls.connect` take. */
  readonly lookup: LookupFunction = (host, { all, family = 0 }, done) => {
    const wanted = Number(String(family).replace('IPv', ''));
    const answer = (addresses: readonly LookupAddress[]) => {
      const fitting = addresses.filter((each) => wanted === 0 || each.family === wanted);
      const [first] = fitting;
      if (first === undefined) done(notFound(host), '');
      else if (all === true) done(null, fitting);
      else done(null, first.address, first.family);
    };
    // After all promises of this tick have settled: the caller that gets the socket by one of them can still watch it.
    this.find(host).then(
      (found) => process.nextTick(answer, found),
      (error: NodeJS.ErrnoException) => process.nextTick(done, error, ''),
    );
  };

  /**
   * Learns the result of a connection that uses {@link lookup}. Call as soon as the connection is being opened.
   * `readyEvent`: the event at the end of the handshake, including that of TLS.
   */
  watch(socket: Socket, readyEvent: 'connect' | 'secureConnect'): void {
    const tried: string[] = [];
    let name: Name | undefined;
    let cause: unknown;
    // Emitted once for each address, and never if the host is an address itself.
    socket.on('lookup', (error, address, _family, host: string) => {
      name = this.#nameOf(host);
      if (error === null) tried.push(address);
    });
    const lost = () => isShortage(cause) || name?.failed(tried);
    socket.once('close', lost).once('error', (error) => {
      cause = error;
    });
    socket.once(readyEvent, () => socket.off('close', lost).once('close', () => name?.doubt()));
  }

  #nameOf(host: string): Name {
    return inMap(this.#names, host, () => new Name(() => this.#lookUp(host), this.#now));
  }

  #lookUp(host: string): Promise<LookupAddress[]> {
    const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
    // The hint is that of `net.connect`: no IPv6 without an IPv6 network.
    this.#askResolver(host, { all: true, hints: ADDRCONFIG }, (error, addresses) => {
      if (error !== null) reject(shortageOfFiles() ?? error);
      else if (addresses.length === 0) reject(notFound(host));
      else resolve(addresses);
    });
    return promise;
  }
}

/** The addresses by the system's resolver, for programs that are not an app. */
export function systemNames(): Names {
  // eslint-disable-next-line no-restricted-syntax -- programs that are no app have no composition root
  return new Names(lookup, performance.now.bind(performance));
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
}
