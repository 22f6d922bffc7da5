const HEX = /^(?:0[xX])?([0-9a-fA-F]{64})$/;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** What {@link parseHash} accepts, for error messages. */
export const ACCEPTED_HASH = '64 hex digits with or without 0x, or base64 or base64url of 32 bytes, padded or not';

/** The canonical form of a hash that no message or transaction has. */
export const NO_HASH = Buffer.alloc(32).toString('base64');

/**
 * Reads any spelling of a 32-byte hash and returns the one canonical form, padded standard base64, which the indexer
 * itself uses in answers; `undefined` for a text that is not a hash.
 */
export function parseHash(text: string): string | undefined {
  const hex = HEX.exec(text)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex').toString('base64');
  // A space is never part of a hash: it was a `+` that a form decoder turned into a space.
  const base64 = text.replaceAll(' ', '+');
  return BASE64.test(base64) ? Buffer.from(base64, 'base64').toString('base64') : undefined;
}
