import type { Dialect } from './dialect.ts';
import { addressSpellings, decodeAddress, decodeHash } from './spellings.ts';

/** Reads a hash in the spellings of a dialect and gives its canonical form; undefined refuses it. */
export function readHash(text: string, dialect: Dialect): string | undefined {
  if (dialect === '1.2') return readHashOf12(text);
  return decodeHash(text.trim())?.toString('base64');
}

/** 64 hex digits, with `0x` but not `0X`, or any 44 characters of base64, whatever number of bytes they encode. */
function readHashOf12(text: string): string | undefined {
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) return decodeHash(text)?.toString('base64');
  const isBase64 = text.length === 44 && /^(?:[A-Za-z0-9+/]+|[\w-]+)={0,2}$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64').toString('base64') : undefined;
}

/**
 * Reads an account address and gives its canonical form; undefined refuses it. A workchain may have a sign and zeros, and
 * a tag byte any value. 1.3 also takes spaces around the raw form, and two words for no account.
 */
export function readAddress(text: string, dialect: Dialect): string | undefined {
  if (dialect !== '1.2' && (text === 'null' || text === 'addr_none')) return text;
  const raw = /^([+-]?\d{1,10}):([0-9a-fA-F]{64})$/.exec(dialect === '1.2' ? text : text.trim());
  const workchain = readInt32(raw?.[1] ?? '');
  if (raw !== null) return workchain === undefined ? undefined : `${workchain}:${raw[2]?.toUpperCase()}`;
  const account = decodeAddress(text);
  return account === undefined ? undefined : addressSpellings(account).raw;
}

/** Reads an integer as Go's `strconv.ParseInt` does, for 32 bits; undefined refuses it. */
export function readInt32(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = Number(text);
  return value === (value | 0) ? value | 0 : undefined;
}

/** Reads an integer as Go's `int32(strconv.Atoi)` does: any other text is 0, and a large value loses its upper bits. */
export function readWrappedInt32(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) return 0;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? Number(BigInt.asIntN(32, value)) : 0;
}

/** Reads a flag as Go's `strconv.ParseBool` does; undefined for anything that it does not know. */
export function readFlag(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : undefined;
}
