const LT = /^0*[0-9]{1,20}$/;

/** A logical time in digits, an unsigned number of 64 bits; `undefined` for anything else. */
export function readLt(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !LT.test(value)) return undefined;
  const lt = BigInt(value);
  return lt < 2n ** 64n ? lt : undefined;
}
