import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recipientIn } from '../../../src/ton/transfer-body.ts';
import { cases } from '../../support/property-runs.ts';

/** Recorded from an indexer: the bodies of three `transfer` messages, and the recipients that it decoded. */
const RECORDED = [
  [
    'te6cckEBAgEAcgABqg+KfqUAAAAAAAAAAEdzWUAIAVZ+UqaOWBvxZUqmtxj8wO0ePg95fDhW7NB7Q20lhpK9AACOJWu+VUCSSCikcbzcV4pHfGz3SVOr6iwniGi1Y1YlwgMBADAAAAAANTVGMzQwMTEwNEQ2QzREQTM0RTk0L3xi',
    'AB3F2953472C0DF8B2A5535B8C7E60768F1F07BCBE1C2B76683DA1B692C3495E',
  ],
  [
    'te6cckEBAQEAVgAAqA+KfqUoqJE5J39m9TLcbAgBO1LjXnGl4HV75hGr8ixtUvy0Vg9M2HOuOvl1x2Bl27kAE42ZPrugU+9tsHLNtcrrFLRXhhsEezWZP4bPxp8/YAdCAoBiKn8=',
    '9DA971AF38D2F03ABDF308D5F91636A97E5A2B07A66C39D71D7CBAE3B032EDDC',
  ],
  [
    'te6cckEBAQEAYAAAvA+KfqVkqQjJMo6ZTzD0JAgAnGzJ9d0Cn3ttg5ZtrldYpaK8MNgj2azJ/DZ+NPn7ADsAJ2pca840vA6vfMI1fkWNql+WisHpmw51x18uuOwMu3cCAgAAAABIZWxsbyGguQis',
    '4E3664FAEE814FBDB6C1CB36D72BAC52D15E186C11ECD664FE1B3F1A7CFD801D',
  ],
] as const;

const [[RECORDED_BODY]] = RECORDED;

test.each(RECORDED)('the recipient in a recorded body is the one that the indexer decoded', (body, account) => {
  expect(recipientIn(body)).toEqual({ account: `0:${account}` });
});

/** A cell: its bits, and references to other cells. */
interface Cell {
  readonly bits: string;
  readonly references?: readonly number[];
  readonly isExotic?: boolean;
}

interface Written {
  readonly cells: readonly Cell[];
  readonly root?: number;
  readonly indexSize?: number;
  readonly offsetSize?: number;
  readonly hasIndex?: boolean;
  readonly roots?: readonly number[];
}

function bagOf({ cells, root = 0, indexSize = 1, offsetSize = 2, hasIndex = false }: Written): string {
  const number = (value: number, size: number) => Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex');
  const written = cells.map(({ bits, references = [], isExotic = false }) => {
    const isWhole = bits.length % 8 === 0;
    const padded = isWhole ? bits : `${bits}1`.padEnd(Math.ceil((bits.length + 1) / 8) * 8, '0');
    const bytes = padded.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [];
    const halves = Math.floor(bits.length / 8) + Math.ceil(bits.length / 8);
    const links = references.map((reference) => number(reference, indexSize));
    return Buffer.concat([Buffer.from([references.length + (isExotic ? 8 : 0), halves, ...bytes]), ...links]);
  });
  const ends = written.map((_, at) => Buffer.concat(written.slice(0, at + 1)).length);
  return Buffer.concat([
    Buffer.from('b5ee9c72', 'hex'),
    Buffer.from([(hasIndex ? 0x80 : 0) + indexSize, offsetSize]),
    ...[cells.length, 1, 0].map((value) => number(value, indexSize)),
    number(ends.at(-1) ?? 0, offsetSize),
    number(root, indexSize),
    ...(hasIndex ? ends.map((end) => number(end, offsetSize)) : []),
    ...written,
  ]).toString('base64');
}

const bitsOf = (value: bigint | number, count: number) => value.toString(2).padStart(count, '0');
const ACCOUNT = BigInt(`0x${'5a'.repeat(32)}`);
const OPCODE = bitsOf(0x0f8a7ea5, 32);
const AMOUNT = bitsOf(1, 4) + bitsOf(7, 8);
const STANDARD = `100${bitsOf(0, 8)}${bitsOf(ACCOUNT, 256)}`;
const transferTo = (address: string, rest = '00') => OPCODE + bitsOf(0, 64) + AMOUNT + address + rest;
const recipientOf = (bits: string, bag: Omit<Written, 'cells'> = {}) =>
  recipientIn(bagOf({ cells: [{ bits }], ...bag }));

describe('the recipient', () => {
  test('has any amount and workchain before it', () => {
    const amount = fc
      .integer({ min: 0, max: 15 })
      .chain((length) =>
        fc
          .bigInt({ min: 0n, max: 2n ** BigInt(8 * length) - 1n })
          .map((value) => bitsOf(length, 4) + (length === 0 ? '' : bitsOf(value, 8 * length))),
      );
    fc.assert(
      fc.property(
        amount,
        fc.integer({ min: -128, max: 127 }),
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
        fc.boolean(),
        (bits, workchain, hash, isIndexed) => {
          const address = `100${bitsOf(workchain & 0xff, 8)}${bitsOf(hash, 256)}`;
          const account = `${workchain}:${hash.toString(16).padStart(64, '0').toUpperCase()}`;
          expect(recipientOf(OPCODE + bitsOf(5, 64) + bits + address, { hasIndex: isIndexed, offsetSize: 3 })).toEqual({
            account,
          });
        },
      ),
      cases(100),
    );
  });

  test('stands behind a prefix that is to be rewritten', () => {
    const address = `101${bitsOf(3, 5)}101${bitsOf(0, 8)}${bitsOf(ACCOUNT, 256)}`;
    expect(recipientOf(transferTo(address))).toEqual({ account: `0:${'5A'.repeat(32)}` });
  });

  test('is read from the root cell, wherever it stands', () => {
    const cells = [{ bits: '1' }, { bits: transferTo(STANDARD), references: [0] }];
    expect(recipientIn(bagOf({ cells, root: 1, indexSize: 2 }))).toEqual({ account: `0:${'5A'.repeat(32)}` });
  });

  test.each([
    ['no address', '00'],
    ['an address outside', `01${bitsOf(8, 9)}00000000`],
    ['an address of variable length', `110${bitsOf(8, 9)}${bitsOf(0, 32)}00000000`],
  ])('is nobody if the body names %s', (_, address) => {
    expect(recipientOf(transferTo(address, ''))).toBe('nobody');
  });

  test.each([
    ['nothing', ''],
    ['half an address', STANDARD.slice(0, 200)],
    ['an address without its last bit', STANDARD.slice(0, -1)],
  ])('is none if the body names %s', (_, address) => {
    expect(recipientOf(transferTo(address, ''))).toBe('none');
  });

  test.each([
    ['null', null],
    ['no bag of cells', 'AAAA'],
    ['empty', ''],
    ['another message', bagOf({ cells: [{ bits: bitsOf(0x178d4519, 32) }] })],
    ['shorter than an operation code', bagOf({ cells: [{ bits: '0000' }] })],
    ['an exotic cell', bagOf({ cells: [{ bits: transferTo(STANDARD), isExotic: true }] })],
    ['cut', RECORDED_BODY.slice(0, 60)],
  ])('is unreadable if the body is %s', (_, body) => {
    expect(recipientIn(body)).toBe('unreadable');
  });

  test('is read without an error from any bytes, also from a bag with broken bytes', () => {
    const broken = fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 })).map(([at, bytes]) => {
      const bag = Buffer.from(RECORDED_BODY, 'base64');
      bag.set(bytes, at % (bag.length - bytes.length));
      return bag;
    });
    const any = fc
      .uint8Array({ maxLength: 200 })
      .map((bytes) => Buffer.concat([Buffer.from('b5ee9c72', 'hex'), bytes]));
    fc.assert(
      fc.property(
        fc.oneof(
          broken,
          any,
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
        ),
        (bytes) => {
          const recipient = recipientIn(bytes.toString('base64'));
          if (typeof recipient === 'object') expect(recipient.account).toMatch(/^-?\d{1,3}:[0-9A-F]{64}$/);
          else expect(['nobody', 'none', 'unreadable']).toContain(recipient);
        },
      ),
      cases(2000),
    );
  });

  test('of a body with a million cells is found in linear time', () => {
    const header = Buffer.from('b5ee9c7203020f42400000010000000f423f', 'hex');
    const steps = Buffer.alloc(2_000_000);
    expect(recipientIn(Buffer.concat([header, steps]).toString('base64'))).toBe('unreadable');
  });
});
