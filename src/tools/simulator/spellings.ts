// An independent encoder and decoder, which shares nothing with the proxy's parser in `ton/`: tests check one against
// the other.

/** An account as its two parts: workchain (int8) and 32 bytes. */
export interface AccountId {
  readonly workchain: number;
  readonly hash: Buffer;
}

/** All clients' spellings of one account. */
export type AddressSpellings = ReturnType<typeof addressSpellings>;

/** All clients' spellings of one hash of 32 bytes. */
export type HashSpellings = ReturnType<typeof hashSpellings>;

const BOUNCEABLE = 0x11;
const NON_BOUNCEABLE = 0x51;
const TESTNET_ONLY = 0x80;

function crc16Xmodem(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
    crc &= 0xffff;
  }
  return crc;
}

/** The bytes of a friendly address with this tag byte, which base64 encodes in 48 characters. */
export function friendlyBytes(tag: number, { workchain, hash }: AccountId): Buffer {
  const bytes = Buffer.alloc(36);
  bytes.writeUInt8(tag, 0);
  bytes.writeInt8(workchain, 1);
  hash.copy(bytes, 2);
  bytes.writeUInt16BE(crc16Xmodem(bytes.subarray(0, 34)), 34);
  return bytes;
}

/** Writes an account in every form of the TON address standard; `raw`, in upper case, is the canonical one. */
export function addressSpellings(account: AccountId) {
  const friendly = (tag: number, encoding: 'base64' | 'base64url') => friendlyBytes(tag, account).toString(encoding);
  const hex = account.hash.toString('hex');
  return {
    raw: `${account.workchain}:${hex.toUpperCase()}`,
    rawLower: `${account.workchain}:${hex}`,
    bounceable: friendly(BOUNCEABLE, 'base64'),
    bounceableUrl: friendly(BOUNCEABLE, 'base64url'),
    nonBounceable: friendly(NON_BOUNCEABLE, 'base64'),
    nonBounceableUrl: friendly(NON_BOUNCEABLE, 'base64url'),
    testnetBounceable: friendly(BOUNCEABLE | TESTNET_ONLY, 'base64'),
    testnetBounceableUrl: friendly(BOUNCEABLE | TESTNET_ONLY, 'base64url'),
    testnetNonBounceable: friendly(NON_BOUNCEABLE | TESTNET_ONLY, 'base64'),
    testnetNonBounceableUrl: friendly(NON_BOUNCEABLE | TESTNET_ONLY, 'base64url'),
  };
}

/** Writes a hash of 32 bytes in every form that clients send. `base64` is the canonical one. */
export function hashSpellings(hash: Buffer) {
  const base64 = hash.toString('base64');
  const base64urlUnpadded = hash.toString('base64url');
  const hex = hash.toString('hex');
  return {
    base64,
    base64Unpadded: base64.replaceAll('=', ''),
    base64url: `${base64urlUnpadded}=`,
    base64urlUnpadded,
    hex,
    hexUpper: hex.toUpperCase(),
    hexPrefixed: `0x${hex}`,
  };
}

/** Reads any form of `addressSpellings`, with any tag byte; `undefined` for other texts and wrong checksums. */
export function decodeAddress(text: string): AccountId | undefined {
  const raw = /^(-?\d{1,3}):([0-9a-f]{64})$/i.exec(text);
  if (raw !== null) {
    const workchain = Number(raw[1]);
    return workchain >= -128 && workchain <= 127 ? { workchain, hash: Buffer.from(raw[2] ?? '', 'hex') } : undefined;
  }
  if (!/^(?:[\w-]{48}|[A-Za-z0-9+/]{48})$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (crc16Xmodem(bytes.subarray(0, 34)) !== bytes.readUInt16BE(34)) return undefined;
  return { workchain: bytes.readInt8(1), hash: bytes.subarray(2, 34) };
}

/** Reads any form of `hashSpellings`; `undefined` for any other text. */
export function decodeHash(text: string): Buffer | undefined {
  const hex = /^(?:0x)?([0-9a-f]{64})$/i.exec(text)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  return /^(?:[\w-]{43}|[A-Za-z0-9+/]{43})=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
