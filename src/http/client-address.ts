/**
 * Whom a connection counts for where clients share: its address, of IPv6 the network of 64 bits, whose addresses one
 * client can choose from.
 */
export function clientOf(remoteAddress = ''): string {
  const address = remoteAddress.replace(/^::ffff:(?=[0-9.]+$)/, '');
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}
