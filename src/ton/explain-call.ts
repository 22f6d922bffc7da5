import { ProxyError } from '../errors.ts';
import { cacheKey } from './cache-key.ts';
import type { LifetimeRule } from './finality.ts';
import { findOperation, OPERATION_NAMES, type Operation } from './operations.ts';
import { type Call, parameterNameOf, parseCall, type RequestHeaders } from './parse-call.ts';

/** A request that a person wants to have explained. */
export interface PastedRequest {
  readonly operation: Operation;
  readonly rawQuery: string;
}

/** An input that toncache neither sends to the indexer nor makes part of the key. */
export interface DroppedInput {
  /** As it was given; the value of an API key is left out. */
  readonly input: string;
  readonly why: string;
}

/** Each input costs one more parse of the request, so further inputs are not looked at. */
const MOST_INPUTS = 100;

const WHY_DROPPED: Readonly<Record<string, string>> = {
  api_key: 'toncache uses a key of its own (UPSTREAM_API_KEY)',
  'x-api-key': 'toncache uses a key of its own (UPSTREAM_API_KEY)',
  x_timeout: 'a short timeout makes the indexer answer 404 for what exists',
  'x-timeout': 'a short timeout makes the indexer answer 404 for what exists',
};

/**
 * Reads what a person pastes: a URL of any host, a path with its query, or an operation with its query
 * (`masterchainBlockShards?seqno=1`). Throws a {@link ProxyError} `invalid-request` for anything but a cached
 * operation.
 */
export function readPasted(text: string): PastedRequest {
  const [target = ''] = text.trim().split('#');
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const name = /(?:^|\/api\/v3\/)([a-z]+\/?)$/i.exec(path)?.[1];
  const operation = name === undefined ? undefined : findOperation(`/api/v3/${name}`);
  if (operation !== undefined) return { operation, rawQuery: mark < 0 ? '' : target.slice(mark + 1) };
  const accepted = `a URL, path or name with its query of ${OPERATION_NAMES.join(', ')}`;
  throw new ProxyError('invalid-request', `nothing is cached at this path; accepted: ${accepted}`);
}

/** Headers from lines of the form `Name: value`. Throws a {@link ProxyError} `invalid-request` for another line. */
export function readHeaderLines(lines: readonly string[]): RequestHeaders {
  // Without a prototype: a header may be called `constructor` or `__proto__`.
  const headers: Record<string, string[]> = Object.create(null);
  for (const line of lines) {
    // Match blanks in one way only: the time would grow with the square or the cube of their number.
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+):([^\r\n]*)$/.exec(line) ?? [];
    if (name === undefined) throw new ProxyError('invalid-request', `a header is not valid; accepted: "Name: value"`);
    const known = headers[name.toLowerCase()] ?? [];
    headers[name.toLowerCase()] = [...known, value.trim()];
  }
  return headers;
}

/**
 * The inputs that can be left out of a valid request without changing its call, in their order; of equal inputs, all
 * but the last. Throws what {@link parseCall} throws.
 */
export function droppedInputs(operation: Operation, rawQuery: string, headers: RequestHeaders): DroppedInput[] {
  const keyOf = (pieces: readonly string[], given: RequestHeaders) =>
    cacheKey('', parseCall(operation, pieces.join('&'), given));
  let pieces = rawQuery.split('&').filter((piece) => piece !== '');
  let given = headers;
  const key = keyOf(pieces, given);
  const isSame = (fewer: readonly string[], others: RequestHeaders) => {
    try {
      return keyOf(fewer, others) === key;
    } catch {
      return false;
    }
  };
  const dropped: DroppedInput[] = [];
  for (const piece of pieces.slice(0, MOST_INPUTS)) {
    const fewer = pieces.toSpliced(pieces.indexOf(piece), 1);
    if (!isSame(fewer, given)) continue;
    pieces = fewer;
    const name = parameterNameOf(piece);
    dropped.push(describe(piece, name, operation.queryNames.has(name)));
  }
  for (const name of Object.keys(headers).slice(0, MOST_INPUTS)) {
    const { [name]: value, ...others } = given;
    if (!isSame(pieces, others)) continue;
    given = others;
    dropped.push(describe(`${name}: ${String(value)}`, name, operation.headerNames.has(name)));
  }
  return dropped;
}

/** The rows of the table of lifetimes that an answer to a call can fall under; its body decides which one. */
export function rulesOf({ operation, request }: Call): readonly LifetimeRule[] {
  switch (operation.name) {
    case 'pendingTraces':
      return ['pendingFinalized', 'pendingLive', 'empty', 'notFound'];
    case 'masterchainBlockShards':
      return ['shardsFinal', 'shardsFinalPage', 'shardsLive', 'empty', 'notFound'];
    case 'adjacentTransactions': {
      const isParent = request.query.some(([name, value]) => name === 'direction' && value === 'in');
      return [isParent ? 'adjacentFinal' : 'adjacentGrowing', 'adjacentLive', 'empty', 'notFound'];
    }
  }
}

function describe(input: string, name: string, isRead: boolean): DroppedInput {
  const isKey = name === 'api_key' || name === 'x-api-key';
  // A parameter may be called `constructor`, which every object inherits.
  const reason = Object.hasOwn(WHY_DROPPED, name) ? WHY_DROPPED[name] : undefined;
  const unread = reason ?? 'the operation does not read it';
  return { input: isKey ? name : input, why: isRead ? 'the request means the same without it' : unread };
}
