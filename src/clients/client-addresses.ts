import { BlockList, isIP, isIPv6 } from 'node:net';

export interface ClientAddressesDependencies {
  /** Called once, when so many requests in a row came from one address that is no trusted proxy, and forwards. */
  readonly onUntrustedProxy: (address: string) => void;
  /** Called once, when a trusted proxy says only in `Forwarded` (RFC 7239) whom a request is for: that is not read. */
  readonly onUnreadForwarded: (address: string) => void;
  /** Addresses and networks in CIDR notation. */
  readonly trustedProxies: readonly string[];
}

/** After so many requests in a row, what looks like a proxy is taken for one. */
const PROXY_AFTER = 100;

/**
 * Tells whom a request is for where clients share: its address, of IPv6 the network of 64 bits, whose addresses one
 * client can choose from. From a trusted proxy `X-Forwarded-For` counts, read from the right, because each proxy adds
 * what it saw at the end: the first address that is no trusted proxy is the client's. What stands before it was
 * written by the client, and nothing else that a client can freely write counts.
 */
export class ClientAddresses {
  readonly #dependencies: ClientAddressesDependencies;
  readonly #trusted = new BlockList();
  #forwarder = '';
  #inARow = 0;
  #isReported = false;
  #isUnreadReported = false;

  constructor(dependencies: ClientAddressesDependencies) {
    const { trustedProxies } = dependencies;
    this.#dependencies = dependencies;
    for (const network of trustedProxies) {
      const [address = '', bits] = network.split('/');
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      this.#trusted.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
    }
  }

  /** The client of a request, by the address of its connection (none once that is closed) and its headers. */
  readonly of = (
    { remoteAddress = '' }: { readonly remoteAddress?: string | undefined },
    { 'x-forwarded-for': forwardedFor, forwarded }: Readonly<Record<string, string | string[] | undefined>>,
  ): string => {
    let address = plain(remoteAddress);
    if (forwardedFor === undefined && forwarded === undefined) {
      this.#inARow = 0;
      return clientOf(address);
    }
    if (!this.#isTrusted(address)) {
      this.#suspect(address);
      return clientOf(address);
    }
    if (forwardedFor === undefined) {
      this.#reportUnread(address);
      return clientOf(address);
    }
    for (const entry of String(forwardedFor).split(',').reverse()) {
      const before = forwardedAddress(entry.trim());
      if (before === undefined) break;
      address = before;
      if (!this.#isTrusted(address)) break;
    }
    return clientOf(address);
  };

  #isTrusted(address: string): boolean {
    return this.#trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  #reportUnread(address: string): void {
    if (this.#isUnreadReported) return;
    this.#isUnreadReported = true;
    this.#dependencies.onUnreadForwarded(address);
  }

  #suspect(address: string): void {
    if (address !== this.#forwarder) this.#inARow = 0;
    this.#forwarder = address;
    if (++this.#inARow < PROXY_AFTER || this.#isReported) return;
    this.#isReported = true;
    this.#dependencies.onUntrustedProxy(address);
  }
}

/** A client as it is shown: its network of 24 bits, of IPv6 of 48. */
export function shortened(client: string): string {
  return client.includes(':')
    ? `${client.split(':').slice(0, 3).join(':')}::/48`
    : client.replace(/\.[0-9]+$/, '.0/24');
}

/** An address without what only its machine understands: the zone of IPv6, and IPv6 around an address of IPv4. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, '').replace(/%.*$/, '');
}

/** The address of an entry as proxies write it, also `1.2.3.4:80` and `[2001:db8::1]:80`; `undefined` if it has none. */
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
