/** A hash in hex or base64, alone. */
const HASH = /(?<![\w/+-])(?:[0-9A-Fa-f]{64}|[A-Za-z0-9+/_-]{43}=)(?![\w/+-])/g;
const RAW_ADDRESS = /(-?\d+):([0-9A-Fa-f]{64})/g;

/** A request for people: addresses in their usual form and hashes shortened, `account=EQCD…xB2N`. */
export function shownRequest(request, network) {
  return request
    .replace(RAW_ADDRESS, (_, workchain, hash) => shortened(friendlyAddress(Number(workchain), hash, network)))
    .replace(HASH, shortened);
}

function shortened(text) {
  return `${text.slice(0, 4)}…${text.replace(/=$/, '').slice(-4)}`;
}

/** TEP-2: a tag (bounceable, and of the test network), the workchain, the hash, a checksum; in base64url. */
function friendlyAddress(workchain, hash, network) {
  const bytes = [network === 'testnet' ? 0x91 : 0x11, workchain & 0xff];
  for (let at = 0; at < hash.length; at += 2) bytes.push(Number.parseInt(hash.slice(at, at + 2), 16));
  const checksum = crc16(bytes);
  return btoa(String.fromCharCode(...bytes, checksum >> 8, checksum & 0xff))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

/** CRC-16/XMODEM. */
function crc16(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}
