import { hash } from 'node:crypto';

/** Sizes of answers in KB, as indexers send them: a small one, a usual one, the largest traces. */
export const SIZES_KB: readonly number[] = [2, 20, 200];

/** A path whose answer has that size; different for every number. The first byte of the hash says the size. */
export function sizedPath(sizeKb: number, number: number): string {
  const rest = hash('sha256', `${number}`, 'hex').slice(2);
  return `/api/v3/adjacentTransactions?hash=${sizeKb.toString(16).padStart(2, '0')}${rest}&direction=out`;
}

/** The size that a hash, in any form that `Buffer` calls base64, asks for. */
export function sizeOf(hashBase64: string): number {
  return Buffer.from(hashBase64, 'base64').readUInt8(0);
}
