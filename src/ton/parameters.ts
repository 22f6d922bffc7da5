import { z } from 'zod';
import { ACCEPTED_ADDRESS, hasWrongChecksum, parseAddress } from './address.ts';
import { ACCEPTED_HASH, parseHash } from './hash.ts';
import { readLt } from './lt.ts';

/** The maximum number of hashes of external messages in one request; the indexer sets no bound. */
const MAX_HASHES = 1000;

/** The maximum number of values of any other list. */
const MAX_VALUES = 100;

/** The largest value of the indexer's int32 parameters. */
const MAX_INT32 = 2_147_483_647;

/** Stands for a value with broken percent-encoding: no valid value contains Unicode's replacement character. */
export const UNDECODABLE = '\u{fffd}';

/**
 * The building blocks of an operation's schema. Each turns the decoded values of a request under one name (an empty
 * list if the name does not occur) into the canonical value. Messages state what is accepted; the caller puts the name
 * before them.
 */
const given = z.array(z.string());

/** Refuses a value, for the schema of a further operation. `message`: the cached form. */
export function notCached(ctx: z.RefinementCtx, message: string): never {
  ctx.addIssue(message);
  return z.NEVER;
}

/** Refuses a value that would otherwise be passed through: no indexer may see it. */
function refused(ctx: z.RefinementCtx, message: string): never {
  ctx.addIssue({ code: 'custom', message, params: { isRefused: true } });
  return z.NEVER;
}

/** In zod's form: draft 2020-12, which OpenAPI 3.1 uses too. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const TEXT: JsonSchema = { type: 'string' };
const DIRECTION: JsonSchema = { enum: ['in', 'out'] };
const FLAG: JsonSchema = { type: 'boolean' };
const SORT: JsonSchema = { enum: ['asc', 'desc'] };

/** The description of one name in the OpenAPI document. */
export interface DescribedParameter {
  /** The accepted values. */
  readonly description: string;
  readonly required: boolean;
  /** One value, or a list. Of several spellings only those that the indexer itself documents. */
  readonly schema: JsonSchema;
}

/** Describes the parameters of a schema, by name. A schema sees lists of values, which may be limited to one. */
export function describeParameters(schema: z.ZodObject): Readonly<Record<string, DescribedParameter>> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input' });
  const described = Object.entries(properties as Record<string, JsonSchema>).map(([name, list]) => {
    const { description = '', minItems, maxItems, items } = list;
    return [
      name,
      { description, required: minItems === 1, schema: maxItems === 1 ? items : { type: 'array', items, maxItems } },
    ];
  });
  return Object.fromEntries(described);
}

/** Reads one spelling of a value; `undefined` refuses it. */
type Reader<T> = (text: string) => T | undefined;

/** Reads all values; `undefined` if one is refused, which is added as an issue. */
function read<T>(
  values: readonly string[],
  reader: Reader<T>,
  accepted: string,
  ctx: z.RefinementCtx,
): T[] | undefined {
  const result: T[] = [];
  for (const text of values) {
    const value = reader(text);
    if (value === undefined) {
      ctx.addIssue(refusalOf(text, accepted));
      return undefined;
    }
    result.push(value);
  }
  return result;
}

function refusalOf(text: string, accepted: string): string {
  if (text === UNDECODABLE) return 'is not valid percent-encoded UTF-8; accepted: % followed by two hex digits';
  const isMistyped = accepted === ACCEPTED_ADDRESS && hasWrongChecksum(text);
  const problem = isMistyped ? 'has a wrong checksum' : 'is not valid';
  return `${text === '' ? 'is empty' : problem}; accepted: ${accepted}`;
}

/**
 * One value. The indexer takes the first or the last of several, depending on its version and the parameter, so several
 * are accepted only if all mean the same. A reader returns `null` for a value that means the same as no value.
 */
function optional<T>(reader: Reader<T | null>, accepted: string, items = TEXT) {
  const one = given.transform((values, ctx): T | undefined => {
    const meant = read(values, reader, accepted, ctx);
    if (meant === undefined) return z.NEVER;
    const [first] = meant;
    if (meant.some((value) => value !== first)) {
      ctx.addIssue(`is given ${values.length} times with different values; accepted: one value, ${accepted}`);
      return z.NEVER;
    }
    return first ?? undefined;
  });
  return one.meta({ description: accepted, items, maxItems: 1 });
}

function required<T>(reader: Reader<T>, accepted: string, items = TEXT) {
  const one = optional(reader, accepted, items).transform((value, ctx): T => {
    if (value !== undefined) return value;
    ctx.addIssue(`is missing; accepted: ${accepted}`);
    return z.NEVER;
  });
  return one.meta({ minItems: 1 });
}

/** One value in a spelling that `reader` accepts. Any other value, or several values, have no cached form. */
function only<T>(reader: Reader<T>, accepted: string, items = TEXT) {
  const one = given.transform((values, ctx): T | undefined => {
    const [text, ...others] = values;
    if (text === undefined) return undefined;
    return (others.length === 0 ? reader(text) : undefined) ?? notCached(ctx, `is cached as one value, ${accepted}`);
  });
  return one.meta({ description: accepted, items, maxItems: 1 });
}

function list<T>(reader: Reader<T>, accepted: string, most: number, separator?: string) {
  const several = given.transform((values, ctx): T[] => {
    const split = separator === undefined ? values : values.flatMap((value) => value.split(separator));
    if (split.length > most) {
      ctx.addIssue(`has ${split.length} values; accepted: at most ${most}`);
      return z.NEVER;
    }
    return read(split, reader, accepted, ctx) ?? z.NEVER;
  });
  return several.meta({ description: accepted, items: TEXT, maxItems: most });
}

/** `whenEmpty`: the number that the indexer uses for an empty value; without it an empty value is refused. */
function digitsBetween(minimum: number, maximum: number, whenEmpty?: number): [Reader<number>, string, JsonSchema] {
  const reader: Reader<number> = (text) => {
    if (text === '') return whenEmpty;
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  };
  return [reader, `plain digits, ${minimum} to ${maximum}`, { type: 'integer', minimum, maximum }];
}

/**
 * The shard of a block, in the indexer's form: upper-case hex without leading zeros. `undefined` for a spelling that it
 * may read in another way, such as a decimal number of 17 to 19 digits.
 */
export function readShard(text: string): string | undefined {
  const hex = /^(?:0x)?([0-9a-fA-F]{1,16})$/.exec(text)?.[1];
  const negative = /^-[1-9][0-9]{0,18}$/.test(text) ? BigInt(text) : undefined;
  if (negative !== undefined && negative < -(2n ** 63n)) return undefined;
  const bits = hex === undefined ? negative && BigInt.asUintN(64, negative) : BigInt(`0x${hex}`);
  return bits?.toString(16).toUpperCase();
}

const readWorkchain: Reader<string> = (text) =>
  /^(?:0|-?[1-9][0-9]{0,9})$/.test(text) && Math.abs(Number(text)) <= MAX_INT32 ? text : undefined;

/** Any other word means both directions to the indexer, like no value: old clients send `both` and `--`. */
const readDirection: Reader<string | null> = (text) => (text === 'in' || text === 'out' ? text : null);

/** The indexer accepts either word in any case, or its first letter. */
const readSort: Reader<string | null> = (text) => {
  switch (text.toLowerCase()) {
    case 'asc':
    case 'a':
      return 'asc';
    case 'desc':
    case 'd':
      return 'desc';
    default:
      return text === '' ? null : undefined;
  }
};

/**
 * The values that Go's strconv.ParseBool reads as true. Everything else, boolean or not, means the same as no value.
 */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

/** The values that Go's strconv.ParseBool reads as false, and an empty value. */
const FALSE: ReadonlySet<string> = new Set(['', '0', 'f', 'F', 'FALSE', 'false', 'False']);

/** A version, a shortcut or an action type: opaque and case-sensitive. The indexer ignores unknown words. */
const readActionWord: Reader<string> = (text) => (/^[\x20-\x7e]{0,64}$/.test(text) ? text : undefined);
const ACCEPTED_ACTION_WORD = 'a version, shortcut or action type of at most 64 printable ASCII characters';

/**
 * Accounts in the client's order; of equal ones the last stays. The order is part of the request, because indexer 1.2
 * answers only for the last one (its specification says for all).
 */
export const accounts = list(parseAddress, ACCEPTED_ADDRESS, MAX_VALUES).transform((addresses) =>
  addresses.filter((address, index) => addresses.lastIndexOf(address) === index),
);

/**
 * A set of hashes: repeats, commas, order and empty values do not matter. A set of only empty values is `['']`, which
 * the indexer answers without traces.
 */
export const hashSet = list((text) => (text === '' ? text : parseHash(text)), ACCEPTED_HASH, MAX_HASHES, ',').transform(
  (hashes) => {
    const set = new Set(hashes);
    if (set.size > 1) set.delete('');
    return [...set].sort();
  },
);

export const hash = required(parseHash, ACCEPTED_HASH);
export const direction = optional(readDirection, 'in or out', DIRECTION);
export const sort = optional(readSort, 'asc or desc', SORT);
export const seqno = required(...digitsBetween(0, MAX_INT32));
export const limit = optional(...digitsBetween(1, 1000, 1));
export const offset = optional(...digitsBetween(0, MAX_INT32, 0));
export const flag = optional((text) => TRUE.has(text), 'true or false', FLAG);

export const onlyHash = only(parseHash, ACCEPTED_HASH);
export const onlySeqno = only(...digitsBetween(0, MAX_INT32));
/** The indexer refuses an empty word, too. */
export const onlySort = only((text) => readSort(text) ?? undefined, 'asc or desc', SORT);
export const onlyDescending = only((text) => (readSort(text) === 'desc' ? 'desc' : undefined), 'desc', {
  const: 'desc',
});
export const onlyShard = only(readShard, 'at most 16 hex digits with or without 0x, or a negative number');
export const onlyWorkchain = only(readWorkchain, 'a whole number', { type: 'integer' });
export const onlyDirection = only((text) => readDirection(text) ?? undefined, 'in or out', DIRECTION);
/** The indexer also accepts `on` here, and refuses unknown words. */
export const onlyFlag = only(
  (text) => TRUE.has(text) || text === 'on' || (FALSE.has(text) ? false : undefined),
  'true or false',
  FLAG,
);
/** `false` as Go's strconv.ParseBool reads it, or empty: the same as no value. */
export const onlyFalse = optional((text) => (FALSE.has(text) ? null : undefined), 'false', { const: false });
/** The start of a list. The indexer reads an empty value as 0. */
export const onlyLt = only((text) => (text === '' ? '0' : readLt(text)?.toString()), 'plain digits, below 2^64');
export const onlySeconds = only(...digitsBetween(0, MAX_INT32));

/**
 * One account. For an empty value indexer 1.2 would answer with the rows of all accounts, so it is refused instead of
 * passed through.
 */
export const onlyAccount = given
  .transform((values, ctx): string | undefined => {
    const pieces = values.flatMap((value) => value.split(','));
    if (values.includes('') || (values.length > 0 && pieces.every((piece) => piece === ''))) {
      return refused(ctx, `is empty; accepted: ${ACCEPTED_ADDRESS}`);
    }
    const [text, ...others] = values;
    if (text === undefined) return undefined;
    return (
      (others.length === 0 ? parseAddress(text) : undefined) ??
      notCached(ctx, `is cached as one value, ${ACCEPTED_ADDRESS}`)
    );
  })
  .meta({ description: ACCEPTED_ADDRESS, items: TEXT, maxItems: 1 });

/** One account that only narrows a list: any other value, also an empty one, has no cached form. */
export const onlyAddress = only(parseAddress, ACCEPTED_ADDRESS);

/** A text that is not empty, as it was sent. */
export const onlyText = only((text) => (text === '' ? undefined : text), 'a text that is not empty');

/** `offset` for operations whose answers have one page. */
export const onlyFirstPage = only((text) => (/^0*$/.test(text) ? 0 : undefined), '0', { const: 0 });

/** The `X-Actions-Version` header: one word that selects the decoded action types. */
export const actionsVersion = optional(readActionWord, ACCEPTED_ACTION_WORD);

/**
 * The same as a query parameter, which may be repeated: a set. Not split at commas, because the indexer does not split
 * it.
 */
export const actionTypes = list(readActionWord, ACCEPTED_ACTION_WORD, MAX_VALUES).transform((types) =>
  [...new Set(types)].sort(),
);
