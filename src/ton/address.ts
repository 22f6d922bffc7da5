const RAW = /^(-?(?:0|[1-9][0-9]{0,2})):([0-9a-fA-F]{64})$/;
const USER_FRIENDLY = /^[A-Za-z0-9+/_-]{48}$/;
const BOUNCEABLE = 0x11;
const NON_BOUNCEABLE = 0x51;
const TESTNET_ONLY = 0x80;

/** What {@link parseAddress} accepts, for error messages. */
export const ACCEPTED_ADDRESS =
  'workchain:64 hex digits, or the 48 characters of a user-friendly address in base64 or base64url';

/**
 * Reads any spelling of an account address (TEP-2) and returns the one canonical form, `workchain:64 UPPERCASE HEX`,
 * which the indexer itself uses in answers; `undefined` for a text that is not an address. Bounceable, non-bounceable
 * and testnet-only forms name the same account.
 */
export function parseAddress(text: string): string | undefined {
  // A space is never part of an address: it was a `+` that a form decoder turned into a space.
  const spelling = text.replaceAll(' ', '+');
  const raw = RAW.exec(spelling);
  if (raw !== null) {
    const [, workchain = '', account = ''] = raw;
    return isInt8(workchain) ? `${workchain}:${account.toUpperCase()}` : undefined;
  }
  return USER_FRIENDLY.test(spelling) ? parseUserFriendly(Buffer.from(spelling, 'base64')) : undefined;
}

/**
 * True if a text has the form of a user-friendly address, and only its checksum is wrong: most likely it was mistyped.
 */
export function hasWrongChecksum(text: string): boolean {
  const spelling = text.replaceAll(' ', '+');
  const bytes = USER_FRIENDLY.test(spelling) ? Buffer.from(spelling, 'base64') : undefined;
  return bytes !== undefined && hasTag(bytes) && !hasChecksum(bytes);
}

/** Tag, workchain (int8), 32 bytes, CRC16 over the 34 bytes before it. */
function parseUserFriendly(bytes: Buffer): string | undefined {
  if (!hasTag(bytes) || !hasChecksum(bytes)) return undefined;
  return `${bytes.readInt8(1)}:${bytes.toString('hex', 2, 34).toUpperCase()}`;
}

function hasTag(bytes: Buffer): boolean {
  const tag = bytes.readUInt8(0) & ~TESTNET_ONLY;
  return tag === BOUNCEABLE || tag === NON_BOUNCEABLE;
}

function hasChecksum(bytes: Buffer): boolean {
  return crc16(bytes.subarray(0, 34)) === bytes.readUInt16BE(34);
}

function isInt8(digits: string): boolean {
  const value = Number(digits);
  return !Object.is(value, -0) && value >= -128 && value <= 127;
}

/** CRC-16/XMODEM: polynomial 0x1021, initial value 0 (TEP-2). */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff;
}
