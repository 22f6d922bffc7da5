import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { isObject, type JsonObject } from '../../json-object.ts';
import { type CanonicalRequest, pairs, parameterOf } from '../canonical-request.ts';
import { NO_POINT } from '../chain-point.ts';
import { completenessByClass } from '../completeness.ts';
import { type GivenBody, operation } from '../operation.ts';
import { notCached, onlyAddress, onlyText } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

/** More arguments are passed through. */
const MOST_ENTRIES = 16;
const TYPES: readonly unknown[] = ['num', 'cell', 'slice'];

const ACCEPTED = `accepted: a body {"address", "method", "stack"} with at most ${MOST_ENTRIES} entries of type num, cell or slice`;

const schema = z
  .object({ address: onlyAddress, method: onlyText, stack: onlyText })
  .transform(({ address, method, stack }, ctx): CanonicalRequest => {
    if (address === undefined || method === undefined || stack === undefined) return notCached(ctx, ACCEPTED);
    return { query: pairs({ address, method, stack }), headers: [] };
  });

/** The values in a body of exactly this form; `undefined` for any other body. A number must mean what its digits say. */
function read(bytes: Buffer): GivenBody | undefined {
  const { address, method, stack, ...others } = objectIn(bytes) ?? {};
  if (typeof address !== 'string' || typeof method !== 'string' || Object.keys(others).length > 0) return undefined;
  const isForm = Array.isArray(stack) && stack.length <= MOST_ENTRIES && stack.every(isEntry);
  if (!isForm || !method.isWellFormed()) return undefined;
  const entries = JSON.stringify(stack.map(({ type, value }) => ({ type, value })));
  return { address: [address], method: [method], stack: [entries] };
}

function objectIn(bytes: Buffer): JsonObject | undefined {
  try {
    const body: unknown = isUtf8(bytes) ? JSON.parse(bytes.toString()) : undefined;
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(entry: unknown): entry is { readonly type: string; readonly value: string | number } {
  if (!isObject(entry) || Object.keys(entry).length !== 2) return false;
  const { type, value } = entry;
  const isExact = Number.isSafeInteger(value) && !Object.is(value, -0);
  return TYPES.includes(type) && (isExact || (typeof value === 'string' && value.isWellFormed()));
}

/** The body of a request to the indexer. */
function write(request: CanonicalRequest): string {
  const [address, method] = ['address', 'method'].map((name) => JSON.stringify(parameterOf(request, name)));
  return `{"address":${address},"method":${method},"stack":${parameterOf(request, 'stack')}}`;
}

/**
 * The result of a get-method of a contract, on the state that a lite server has: a function of this state, if the method
 * reads nothing else, such as the time.
 */
export const runGetMethod = operation({
  name: 'runGetMethod',
  summary: 'The result of a get-method of a contract',
  schema,
  body: { read, write },
  isNamedToPass: true,
  ownErrors: [500, 501],
  joinedForMs: 100,
  finality: ({ exit_code, stack = null }) =>
    Number.isSafeInteger(exit_code) && (Array.isArray(stack) || stack === null) ? { rule: 'methodResult' } : undefined,
  lifetimeRules: () => ['methodResult'],
  completeness: completenessByClass,
  // As the earlier answer that a later one must equal, until its own proof and the next one have ended.
  retention: { afterUse: 120_000, sinceGiven: 120_000 },
  chainPoint: () => NO_POINT,
  tags: (request) => tagsOfParameters(request, { address: 'account' }),
  evidence: (request, body) => {
    const [address = '', method = ''] = ['address', 'method'].map((name) => parameterOf(request, name));
    return { kind: 'method', accounts: [address], hasClaims: false, method, hasFailed: body['exit_code'] !== 0 };
  },
  method: (request) => parameterOf(request, 'method'),
  keepsNotFound: false,
  cheapQuery: pairs({ address: `0:${'0'.repeat(64)}`, method: 'seqno', stack: '[]' }),
  remedy: 'start its API with -v2-endpoint',
});
