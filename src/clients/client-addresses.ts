import { BlockList, isIP, isIPv6 } from 'node:net';
import { UNREAD_NAMES } from './naming-headers.ts';

type ClientHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The connection of a request; it has no address once it is closed. */
interface From {
  readonly remoteAddress?: string | undefined;
}

/** The client of a request. */
export interface Requester {
  readonly client: string;
  /** The header by which the request names another client, if that is not read: then many clients may count as one. */
  readonly unreadHeader: string | undefined;
}

export interface ClientAddressesDependencies {
  /** Called once, after {@link PROXY_AFTER} requests in a row from one untrusted address that forwards for others. */
  readonly onUntrustedProxy: (address: string) => void;
  /**
   * Called once, after {@link PROXY_AFTER} requests in a row from a trusted proxy that names clients only in `header`,
   * which is not read.
   */
  readonly onUnreadHeader: (address: string, header: string) => void;
  /** Addresses and networks in CIDR notation. */
  readonly trustedProxies: readonly string[];
}

/** After this many requests in a row, an address counts as a proxy. */
const PROXY_AFTER = 100;

/**
 * Identifies the client of a request by its address; for IPv6 by the network of 64 bits, from which one client can
 * choose addresses. From a trusted proxy `X-Forwarded-For` counts. It is read from the right, because each proxy
 * appends the address that it saw: the first address that is not a trusted proxy is the client's. Everything before it
 * was written by the client. Nothing else that a client can freely write counts.
 */
export class ClientAddresses {
  readonly #dependencies: ClientAddressesDependencies;
  readonly #trusted = new BlockList();
  readonly #untrustedInARow = new InARow();
  readonly #unreadInARow = new InARow();

  constructor(dependencies: ClientAddressesDependencies) {
    const { trustedProxies } = dependencies;
    this.#dependencies = dependencies;
    for (const network of trustedProxies) {
      const [address = '', bits] = network.split('/');
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      this.#trusted.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
    }
  }

  /** The client of a request, by the address of its connection and its headers. */
  readonly of = ({ remoteAddress = '' }: From, { 'x-forwarded-for': forwardedFor }: ClientHeaders): string => {
    let address = plain(remoteAddress);
    if (forwardedFor === undefined || !this.#isTrusted(address)) return clientOf(address);
    for (const entry of String(forwardedFor).split(',').reverse()) {
      const before = forwardedAddress(entry.trim());
      if (before === undefined) break;
      address = before;
      if (!this.#isTrusted(address)) break;
    }
    return clientOf(address);
  };

  /** The header by which a request names its client, if that header does not count. */
  readonly unreadHeaderOf = ({ remoteAddress = '' }: From, headers: ClientHeaders): string | undefined => {
    const header = namingHeaderOf(headers);
    return header === 'X-Forwarded-For' && this.#isTrusted(plain(remoteAddress)) ? undefined : header;
  };

  readonly requesterOf = (from: From, headers: ClientHeaders): Requester => ({
    client: this.of(from, headers),
    unreadHeader: this.unreadHeaderOf(from, headers),
  });

  /** Call once for each request of a client, not for health checks. Looks for proxies whose clients count as one. */
  readonly count = ({ remoteAddress = '' }: From, headers: ClientHeaders): void => {
    const { onUntrustedProxy, onUnreadHeader } = this.#dependencies;
    const address = plain(remoteAddress);
    const header = namingHeaderOf(headers);
    const isTrusted = header !== undefined && this.#isTrusted(address);
    if (this.#untrustedInARow.count(header === undefined || isTrusted ? undefined : address)) onUntrustedProxy(address);
    // A request without such a header may be a check by the proxy itself.
    if (header === undefined) return;
    const unread = isTrusted && header !== 'X-Forwarded-For' ? header : undefined;
    if (this.#unreadInARow.count(unread && address)) onUnreadHeader(address, header);
  };

  #isTrusted(address: string): boolean {
    return this.#trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
}

/** The header by which a request names its client; `X-Forwarded-For`, if it contains an address. */
function namingHeaderOf(headers: ClientHeaders): string | undefined {
  const forwardedFor = headers['x-forwarded-for'];
  if (forwardedFor !== undefined) {
    const last = String(forwardedFor).split(',').at(-1)?.trim() ?? '';
    return forwardedAddress(last) === undefined ? 'X-Forwarded-For without an address' : 'X-Forwarded-For';
  }
  const name = Object.keys(UNREAD_NAMES).find((each) => headers[each] !== undefined);
  return name && UNREAD_NAMES[name];
}

/** Counts requests in a row from one address. */
class InARow {
  #address: string | undefined;
  #count = 0;

  /** Counts a request of an address, or one that ends the row (`undefined`). Returns `true` once, at the hundredth. */
  count(address: string | undefined): boolean {
    // A reported row does not begin again.
    if (this.#count >= PROXY_AFTER) return false;
    if (address !== this.#address) this.#count = 0;
    this.#address = address;
    return address !== undefined && ++this.#count === PROXY_AFTER;
  }
}

/** A client as it is shown: its network of 24 bits, for IPv6 of 48. */
export function shortened(client: string): string {
  return client.includes(':')
    ? `${client.split(':').slice(0, 3).join(':')}::/48`
    : client.replace(/\.[0-9]+$/, '.0/24');
}

/**
 * An address without the parts that only its machine understands: the zone of IPv6, and IPv6 around an address of IPv4.
 */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, '').replace(/%.*$/, '');
}

/**
 * The address in an entry as proxies write it, also `1.2.3.4:80` and `[2001:db8::1]:80`; `undefined` if there is none.
 */
function forwardedAddress(entry: string): string | undefined {
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+)$/.exec(entry) ?? [];
  const address = plain(inBrackets ?? beforePort ?? entry);
  return isIP(address) === 0 ? undefined : address;
}

function clientOf(address: string): string {
  if (!address.includes(':')) return address;
  const [before = [], after = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
