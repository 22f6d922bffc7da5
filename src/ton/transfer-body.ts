/** The operation code of a transfer of jettons, in the message to the sender's wallet (TEP-74). */
export const TRANSFER_OPCODE = 0x0f8a7ea5;

const MAGIC = 0xb5ee9c72;

/**
 * The recipient of a transfer: an account (raw, in upper case). `nobody`: an address without an account, such as `addr_none`:
 * the indexer lists the transfer for its sender. `none`: the body ends before the recipient, so the indexer lists no transfer.
 * `unreadable`: the indexer may read the body in another way than this code.
 */
export type Recipient = { readonly account: string } | 'nobody' | 'none' | 'unreadable';

/**
 * Reads the recipient of a `transfer` from its body, a bag of cells in base64. Pure, never throws; the time is linear in
 * the length.
 *
 *   transfer#0f8a7ea5 query_id:uint64 amount:(VarUInteger 16) destination:MsgAddress ...
 */
export function recipientIn(body: unknown): Recipient {
  const bits = typeof body === 'string' ? rootCellOf(Buffer.from(body, 'base64')) : undefined;
  if (bits?.take(32) !== BigInt(TRANSFER_OPCODE)) return 'unreadable';
  bits.take(64);
  bits.take(8 * Number(bits.take(4) ?? 0n));
  return addressIn(bits);
}

/** Reads `addr_std$10 anycast:(Maybe Anycast) workchain:int8 account:bits256`, or the tag of another address. */
function addressIn(bits: Bits): Recipient {
  const tag = bits.take(2);
  if (tag !== 0b10n) return tag === undefined ? 'none' : 'nobody';
  // The indexer applies a rewritten prefix; here it is skipped.
  if (bits.take(1) === 1n) bits.take(Number(bits.take(5) ?? 0n));
  const [workchain, account] = [bits.take(8), bits.take(256)];
  if (workchain === undefined || account === undefined) return 'none';
  return { account: `${BigInt.asIntN(8, workchain)}:${account.toString(16).padStart(64, '0').toUpperCase()}` };
}

/** The bits of a cell, in order. After the end, everything is `undefined`. */
class Bits {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at = 0;

  constructor(bytes: Buffer, end: number) {
    this.#bytes = bytes;
    this.#end = end;
  }

  /** The next bits as an unsigned number; `undefined` if there are fewer. */
  take(count: number): bigint | undefined {
    const [from, to] = [this.#at, this.#at + count];
    this.#at = to;
    if (to > this.#end) return undefined;
    let value = 0n;
    for (let at = from >> 3; at < (to + 7) >> 3; at++) value = (value << 8n) + BigInt(this.#bytes[at] ?? 0);
    return BigInt.asUintN(count, value >> BigInt((8 - (to & 7)) & 7));
  }
}

/** The bits of the root cell of a bag of cells; `undefined` for anything else, and for an exotic root. */
function rootCellOf(bytes: Buffer): Bits | undefined {
  let at = 0;
  /** The next bytes as an unsigned number. Beyond the end it is 0, and the place of a cell is checked below. */
  const number = (size: number) => {
    let value = 0;
    for (const end = at + size; at < end; at++) value = value * 256 + (bytes[at] ?? 0);
    return value;
  };
  if (number(4) !== MAGIC) return undefined;
  const flags = number(1);
  const [hasIndex, indexSize, offsetSize] = [(flags & 0x80) !== 0, flags & 7, number(1)];
  if (indexSize < 1 || indexSize > 4 || offsetSize < 1 || offsetSize > 8) return undefined;
  const [cells, roots] = [number(indexSize), number(indexSize)];
  at += indexSize + offsetSize;
  const root = number(indexSize);
  if (roots < 1 || root >= cells) return undefined;
  at += (roots - 1) * indexSize + (hasIndex ? cells * offsetSize : 0);
  for (let cell = 0; at + 2 <= bytes.length; cell++) {
    const [descriptor, halves] = [number(1), number(1)];
    const [references, length] = [descriptor & 7, (halves + 1) >> 1];
    // A cell that is absent, or has its hashes with it: nobody sends such a message.
    if (references > 4 || (descriptor & 0x10) !== 0) return undefined;
    const end = at + length;
    if (end > bytes.length) return undefined;
    if (cell === root) return (descriptor & 0x08) !== 0 ? undefined : bitsOf(bytes.subarray(at, end), halves);
    at = end + references * indexSize;
  }
  return undefined;
}

/** An odd number of halves: the last byte ends with a 1 and zeros, which are not data. */
function bitsOf(data: Buffer, halves: number): Bits | undefined {
  if ((halves & 1) === 0) return new Bits(data, 8 * data.length);
  const last = data.at(-1) ?? 0;
  // The number of zeros after the last 1.
  const zeros = 31 - Math.clz32(last & -last);
  return last === 0 ? undefined : new Bits(data, 8 * data.length - zeros - 1);
}
