import type { Dialect } from './dialect.ts';
import { addressSpellings, decodeAddress, decodeHash } from './spellings.ts';

/** A refusal by the indexer itself, sent as `{"error": message}`. */
export class IndexerRefusal extends Error {
  override readonly name = 'IndexerRefusal';
  readonly status: 401 | 404 | 405 | 409 | 422 | 500 | 501;

  constructor(status: IndexerRefusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A query string as the indexer's web framework (Fiber on fasthttp) gives it to the handlers, which read it in three
 * ways: `first` and `last` under one exact name, and `values` through the decoder that fills Go structs.
 */
export class Query {
  readonly #parameters: readonly { readonly name: string; readonly value: string }[];

  constructor(raw: string) {
    this.#parameters = raw.split('&').map((piece) => {
      const [name = '', ...value] = piece.split('=');
      return { name: decode(name), value: decode(value.join('=')) };
    });
  }

  /** The first value under exactly this name (`QueryInt`). */
  first(name: string): string | undefined {
    return this.#parameters.find((parameter) => parameter.name === name)?.value;
  }

  /** The last value under exactly this name (`Queries`). */
  last(name: string): string | undefined {
    return this.#parameters.findLast((parameter) => parameter.name === name)?.value;
  }

  /**
   * All values under a name in any case (`QueryParser`). `name[]` is `name`; `name[0]` is `name.0`, which nobody reads.
   * If a name occurs in several cases the indexer takes one at random, and this one the last. Throws a {@link
   * IndexerRefusal}, 422.
   */
  values(name: string): readonly string[] {
    const fields = this.#parameters.map((parameter) => fieldOf(parameter.name));
    const chosen = fields.findLast((field) => field.toLowerCase() === name);
    return this.#parameters.flatMap(({ value }, at) => (fields[at] === chosen ? [value] : []));
  }
}

function fieldOf(name: string): string {
  if (/\[[^\]]*$/.test(name)) throw new IndexerRefusal(422, 'unmatched brackets');
  return name.replaceAll(/\[(?!\])/g, '.').replaceAll(/[[\]]/g, '');
}

/** Like fasthttp: a plus is a space, and a percent sign without two hex digits stays. */
function decode(encoded: string): string {
  const bytes = encoded
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-fA-F]{2})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** Reads a hash in the spellings of a dialect and returns its canonical form; `undefined` refuses it. */
export function readHash(text: string, dialect: Dialect): string | undefined {
  if (dialect === '1.2') return readHashOf12(text);
  return decodeHash(text.trim())?.toString('base64');
}

/** 64 hex digits, perhaps after `0x` (not `0X`), or any 44 characters of base64, for any number of bytes. */
function readHashOf12(text: string): string | undefined {
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) return decodeHash(text)?.toString('base64');
  const isBase64 = text.length === 44 && /^(?:[A-Za-z0-9+/]+|[\w-]+)={0,2}$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64').toString('base64') : undefined;
}

/**
 * Reads an account address and returns its canonical form; `undefined` refuses it. A workchain may have a sign and
 * zeros, and a tag byte any value. 1.3 also accepts spaces around the raw form, and two words for no account.
 */
export function readAddress(text: string, dialect: Dialect): string | undefined {
  if (dialect !== '1.2' && (text === 'null' || text === 'addr_none')) return text;
  const raw = /^([+-]?\d{1,10}):([0-9a-fA-F]{64})$/.exec(dialect === '1.2' ? text : text.trim());
  const workchain = readInt32(raw?.[1] ?? '');
  if (raw !== null) return workchain === undefined ? undefined : `${workchain}:${raw[2]?.toUpperCase()}`;
  const account = decodeAddress(text);
  return account === undefined ? undefined : addressSpellings(account).raw;
}

/** Reads an integer like Go's `strconv.ParseInt`, for 32 bits; `undefined` refuses it. */
export function readInt32(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = Number(text);
  return value === (value | 0) ? value | 0 : undefined;
}

/** Reads an integer like Go's `int32(strconv.Atoi)`: any other text is 0, and a large value loses its upper bits. */
export function readWrappedInt32(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) return 0;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? Number(BigInt.asIntN(32, value)) : 0;
}

/** Reads a flag like Go's `strconv.ParseBool`; `undefined` for an unknown word. */
export function readFlag(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : undefined;
}
