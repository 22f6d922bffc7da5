import { z } from 'zod';
import { ACCEPTED_ADDRESS, parseAddress } from './address.ts';
import { ACCEPTED_HASH, parseHash } from './hash.ts';

/** The most values that a list parameter may hold. */
const MAX_VALUES = 100;

/** The largest number that the indexer's int32 parameters take. */
const MAX_INT32 = 2_147_483_647;

/**
 * The building blocks of an operation's schema. Each takes what a request gave under one name, a list of decoded
 * strings (empty when the name did not occur), and gives the canonical value. Messages say what would be accepted; the
 * name is added by the caller.
 */
const given = z.array(z.string());

/** Reads one spelling of a value; `undefined` refuses it. */
type Reader<T> = (text: string) => T | undefined;

function read<T>(values: readonly string[], reader: Reader<T>, accepted: string, ctx: z.RefinementCtx): T[] {
  const result: T[] = [];
  for (const text of values) {
    const value = text === '' ? undefined : reader(text);
    if (value === undefined) {
      ctx.addIssue(text === '' ? `is empty; accepted: ${accepted}` : `is not valid; accepted: ${accepted}`);
      return z.NEVER;
    }
    result.push(value);
  }
  return result;
}

function optional<T>(reader: Reader<T>, accepted: string) {
  return given.transform((values, ctx): T | undefined => {
    if (values.length > 1) {
      ctx.addIssue(`is given ${values.length} times; accepted: once, ${accepted}`);
      return z.NEVER;
    }
    return read(values, reader, accepted, ctx)[0];
  });
}

function required<T>(reader: Reader<T>, accepted: string) {
  return optional(reader, accepted).transform((value, ctx): T => {
    if (value !== undefined) return value;
    ctx.addIssue(`is missing; accepted: ${accepted}`);
    return z.NEVER;
  });
}

function list<T>(reader: Reader<T>, accepted: string, separator?: string) {
  return given.transform((values, ctx): T[] => {
    const split = separator === undefined ? values : values.flatMap((value) => value.split(separator));
    if (split.length > MAX_VALUES) {
      ctx.addIssue(`has ${split.length} values; accepted: at most ${MAX_VALUES}`);
      return z.NEVER;
    }
    return read(split, reader, accepted, ctx);
  });
}

function digitsBetween(minimum: number, maximum: number): [Reader<number>, string] {
  const reader: Reader<number> = (text) => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  };
  return [reader, `plain digits, ${minimum} to ${maximum}`];
}

function oneOf(...words: readonly string[]): [Reader<string>, string] {
  return [(text) => (words.includes(text) ? text : undefined), words.join(' or ')];
}

/** What Go's strconv.ParseBool takes, in any case; false is the same as not given. */
const readFlag: Reader<boolean> = (text) => {
  const word = text.toLowerCase();
  if (word === 'true' || word === 't' || word === '1') return true;
  return word === 'false' || word === 'f' || word === '0' ? false : undefined;
};

/**
 * Accounts in the client's order; of equal ones the last stays. Indexer 1.2 answers for the last one only, the
 * specification for all: so the order is part of the request.
 */
export const accounts = list(parseAddress, ACCEPTED_ADDRESS).transform((addresses) =>
  addresses.filter((address, index) => addresses.lastIndexOf(address) === index),
);

/** A set of hashes: repeats, commas and order do not matter. */
export const hashSet = list(parseHash, ACCEPTED_HASH, ',').transform((hashes) => [...new Set(hashes)].sort());

export const hash = required(parseHash, ACCEPTED_HASH);
export const direction = optional(...oneOf('in', 'out'));
export const sort = optional(...oneOf('asc', 'desc'));
export const seqno = required(...digitsBetween(0, MAX_INT32));
export const limit = optional(...digitsBetween(1, 1000));
export const offset = optional(...digitsBetween(0, MAX_INT32));
export const flag = optional(readFlag, 'true or false');

const VERSION = /^(?:latest|v[1-9][0-9]?)$/;
const ACTION_TYPE = /^[A-Za-z0-9_]{1,64}$/;

/** The `X-Actions-Version` header: a named set of action types. */
export const actionsVersion = optional((text) => (VERSION.test(text) ? text : undefined), 'latest or v1 to v99');

/** The query's spelling of the same: a set of action types, among which a version stands for its set. */
export const actionTypes = list(
  (text) => (ACTION_TYPE.test(text) ? text : undefined),
  'words of letters, digits and underscores',
  ',',
).transform((types) => [...new Set(types)].sort());
