import type { Account } from './accounts.ts';
import type { AccountId } from './spellings.ts';

// Shares nothing with the proxy's reader in `ton/`: tests check one against the other.

/** The opcodes of messages about jettons, as in answers. */
export const OPCODES = {
  transfer: '0x0f8a7ea5',
  internalTransfer: '0x178d4519',
  mint: '0x642b7d07',
} as const;

/** The content of a `transfer` message. */
export interface TransferBody {
  readonly queryId: bigint;
  readonly amount: number;
  /** `undefined`: `addr_none`, which the standard does not allow. */
  readonly destination: Account | undefined;
  readonly responseDestination: Account;
  /** If true, the forward payload is in a second cell. */
  readonly hasPayload?: boolean;
}

const uint = (value: bigint | number, bits: number) =>
  BigInt.asUintN(bits, BigInt(value)).toString(2).padStart(bits, '0');

function coins(amount: number): string {
  const bytes = amount === 0 ? 0 : Math.ceil(amount.toString(2).length / 8);
  return uint(bytes, 4) + (bytes === 0 ? '' : uint(amount, 8 * bytes));
}

function addressBits(account: Account | undefined): string {
  if (account === undefined) return '00';
  return `100${uint(account.workchain, 8)}${uint(BigInt(`0x${account.hash.toString('hex')}`), 256)}`;
}

/** A cell with these bits, and references to the cells of these numbers. */
function cell(bits: string, references: readonly number[]): Buffer {
  const isWhole = bits.length % 8 === 0;
  const padded = isWhole ? bits : `${bits}1`.padEnd(8 * Math.ceil((bits.length + 1) / 8), '0');
  const data = Buffer.from((padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const descriptor = Math.floor(bits.length / 8) + Math.ceil(bits.length / 8);
  return Buffer.concat([Buffer.from([references.length, descriptor]), data, Buffer.from(references)]);
}

function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** A bag of cells in base64, as the indexer writes it: the first cell is its root. Up to 255 bytes of cells. */
function bagOf(cells: readonly Buffer[]): string {
  const content = Buffer.concat(cells);
  const head = Buffer.from([0xb5, 0xee, 0x9c, 0x72, 0x41, 1, cells.length, 1, 0, content.length, 0]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32c(Buffer.concat([head, content])));
  return Buffer.concat([head, content, checksum]).toString('base64');
}

/** The bytes before the first cell of a bag, and those of a cell with an address. */
const [BAG_HEAD, ADDRESS_CELL] = [11, '0043'];

/** A cell with an address, in base64. */
export function writeAddressCell(account: Account): string {
  return bagOf([cell(addressBits(account), [])]);
}

/** The account in a cell with an address, in base64, with a checksum or without; `undefined` for any other cell. */
export function readAddressCell(base64: string): AccountId | undefined {
  const bytes = Buffer.from(base64, 'base64').subarray(BAG_HEAD);
  if (bytes.toString('hex', 0, 2) !== ADDRESS_CELL || bytes.length < 36) return undefined;
  // Three bits, then the workchain and the hash.
  const bits = BigInt(`0x${bytes.toString('hex', 2, 36)}`) >> 5n;
  const hash = Buffer.from(BigInt.asUintN(256, bits).toString(16).padStart(64, '0'), 'hex');
  return { workchain: Number(BigInt.asIntN(8, bits >> 256n)), hash };
}

/** The body of a `transfer` message (TEP-74) as a bag of cells in base64. */
export function writeTransfer(body: TransferBody): string {
  const { queryId, amount, destination, responseDestination, hasPayload = false } = body;
  const bits = [
    uint(BigInt(OPCODES.transfer), 32),
    uint(queryId, 64),
    coins(amount),
    addressBits(destination),
    addressBits(responseDestination),
    // No custom payload; 1 nanoton to forward.
    `0${coins(1)}`,
    hasPayload ? '1' : '0',
  ].join('');
  return bagOf(hasPayload ? [cell(bits, [1]), cell(uint(0, 32) + uint(queryId, 64), [])] : [cell(bits, [])]);
}
