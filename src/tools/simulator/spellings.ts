// An encoder and decoder of its own, which shares nothing with the proxy's parser in `ton/`: tests check one against
// the other.

/** An account as its two parts: workchain (int8) and 32 bytes. */
export interface AccountId {
  readonly workchain: number;
  readonly hash: Buffer;
}

/** Every way in which clients write one account. */
export type AddressSpellings = ReturnType<typeof addressSpellings>;

/** Every way in which clients write one hash of 32 bytes. */
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

function friendlyBytes(tag: number, { workchain, hash }: AccountId): Buffer {
  const bytes = Buffer.alloc(36);
  bytes.writeUInt8(tag, 0);
  bytes.writeInt8(workchain, 1);
  hash.copy(bytes, 2);
  bytes.writeUInt16BE(crc16Xmodem(bytes.subarray(0, 34)), 34);
  return bytes;
}

function toBase64url(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_');
}

/** Writes an account as an address book does: URL-safe, for mainnet. */
export function friendlyAddress(account: AccountId, isBounceable: boolean): string {
  return toBase64url(friendlyBytes(isBounceable ? BOUNCEABLE : NON_BOUNCEABLE, account).toString('base64'));
}

/**
 * Writes an account in every form of the TON address standard; `hash` must hold 32 bytes. `raw`, in upper case, is the
 * canonical one.
 */
export function addressSpellings(account: AccountId) {
  const friendly = (tag: number) => friendlyBytes(tag, account).toString('base64');
  const hex = account.hash.toString('hex');
  const bounceable = friendly(BOUNCEABLE);
  const nonBounceable = friendly(NON_BOUNCEABLE);
  const testnetBounceable = friendly(BOUNCEABLE | TESTNET_ONLY);
  const testnetNonBounceable = friendly(NON_BOUNCEABLE | TESTNET_ONLY);
  return {
    raw: `${account.workchain}:${hex.toUpperCase()}`,
    rawLower: `${account.workchain}:${hex}`,
    bounceable,
    bounceableUrl: toBase64url(bounceable),
    nonBounceable,
    nonBounceableUrl: toBase64url(nonBounceable),
    testnetBounceable,
    testnetBounceableUrl: toBase64url(testnetBounceable),
    testnetNonBounceable,
    testnetNonBounceableUrl: toBase64url(testnetNonBounceable),
  };
}

/** Writes an account in 48 characters with a tag byte that the standard does not know. */
export function withUnknownTag(account: AccountId): string {
  return toBase64url(friendlyBytes(0x22, account).toString('base64'));
}

/** Writes a hash of 32 bytes in every form that clients send. `base64` is the canonical one. */
export function hashSpellings(hash: Buffer) {
  const base64 = hash.toString('base64');
  const hex = hash.toString('hex');
  return {
    base64,
    base64Unpadded: base64.replaceAll('=', ''),
    base64url: toBase64url(base64),
    base64urlUnpadded: toBase64url(base64).replaceAll('=', ''),
    hex,
    hexUpper: hex.toUpperCase(),
    hexPrefixed: `0x${hex}`,
  };
}

/**
 * Reads any form of `addressSpellings`, whatever its tag byte; undefined when the text is none of them or its checksum is
 * wrong.
 */
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

/** Reads any form of `hashSpellings`; undefined when the text is none of them. */
export function decodeHash(text: string): Buffer | undefined {
  const hex = /^(?:0x)?([0-9a-f]{64})$/i.exec(text)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  return /^(?:[\w-]{43}|[A-Za-z0-9+/]{43})=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
