import { BlockList, isIP, isIPv6 } from 'node:net';

/** The client of a request, by the address of its connection (none once that is closed) and its headers. */
export type ClientOf = (
  connection: { readonly remoteAddress?: string | undefined },
  headers: Readonly<Record<string, string | string[] | undefined>>,
) => string;

/**
 * Tells whom a request is for where clients share: its address, of IPv6 the network of 64 bits, whose addresses one
 * client can choose from. From a trusted proxy `X-Forwarded-For` counts, read from the right, because each proxy adds
 * what it saw at the end: the first address that is no trusted proxy is the client's. What stands left of it was
 * written by the client, and nothing else that a client can freely write counts.
 *
 * `trustedProxies`: addresses and networks in CIDR notation.
 */
export function clientsBehind(trustedProxies: readonly string[]): ClientOf {
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    trusted.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  const isTrusted = (address: string) => trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  return ({ remoteAddress = '' }, { 'x-forwarded-for': forwardedFor }) => {
    let address = plain(remoteAddress);
    if (forwardedFor === undefined) return clientOf(address);
    for (const entry of String(forwardedFor).split(',').reverse()) {
      const before = isTrusted(address) ? forwardedAddress(entry.trim()) : undefined;
      if (before === undefined) break;
      address = before;
    }
    return clientOf(address);
  };
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
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}
