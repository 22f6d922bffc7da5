import { ProxyError } from '../errors.ts';
import type { LifetimeRule } from './lifetime-table.ts';
import type { Operation } from './operations.ts';
import { type Call, parameterNameOf, type RequestHeaders } from './parse-call.ts';

/** A request that a person wants to have explained. */
export interface PastedRequest {
  /** From `/api/` on. */
  readonly path: string;
  readonly rawQuery: string;
}

/** An input that is neither sent to the indexer nor part of the key. */
export interface DroppedInput {
  /** In its original spelling; the value of an API key is left out. */
  readonly input: string;
  readonly why: string;
}

/** Further ones are not listed. */
const MOST_INPUTS = 100;

const OWN_KEY = 'toncache uses a key of its own (UPSTREAM_API_KEY)';
const FALSE_404 = 'a short timeout makes the indexer answer 404 for what exists';
const WHY_DROPPED: ReadonlyMap<string, string> = new Map([
  ['api_key', OWN_KEY],
  ['x-api-key', OWN_KEY],
  ['x_timeout', FALSE_404],
  ['x-timeout', FALSE_404],
]);

/**
 * Reads a pasted text: a URL of any host, a path with its query, or a name below `/api/v3/` with its query
 * (`masterchainBlockShards?seqno=1`). Throws a {@link ProxyError} `invalid-request` for anything else.
 */
export function readPasted(text: string): PastedRequest {
  const [target = ''] = text.trim().split('#');
  const mark = target.indexOf('?');
  const place = mark < 0 ? target : target.slice(0, mark);
  const isName = /^[a-z]\w*(?:\/\w+)*\/?$/i.test(place) && !/^api\//i.test(place);
  const path = isName ? `/api/v3/${place}` : /\/api\/.*$/.exec(place)?.[0];
  if (path !== undefined) return { path, rawQuery: mark < 0 ? '' : target.slice(mark + 1) };
  throw new ProxyError(
    'invalid-request',
    'accepted: a URL, a path that begins with /api/, or a name below /api/v3/, with its query',
  );
}

/** Headers from lines of the form `Name: value`. Throws a {@link ProxyError} `invalid-request` for another line. */
export function readHeaderLines(lines: readonly string[]): RequestHeaders {
  // Without a prototype: a header may be called `constructor` or `__proto__`.
  const headers: Record<string, string[]> = Object.create(null);
  for (const line of lines) {
    // Match blanks in one way only: otherwise the time would grow with the square or the cube of their number.
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+):([^\r\n]*)$/.exec(line) ?? [];
    if (name === undefined) throw new ProxyError('invalid-request', `a header is not valid; accepted: "Name: value"`);
    const known = headers[name.toLowerCase()] ?? [];
    headers[name.toLowerCase()] = [...known, value.trim()];
  }
  return headers;
}

/** The inputs that an operation does not read, in their order. */
export function droppedInputs(operation: Operation, rawQuery: string, headers: RequestHeaders): DroppedInput[] {
  const unread: { readonly name: string; readonly input: string }[] = [];
  for (const input of rawQuery.split('&')) {
    const name = parameterNameOf(input);
    if (input !== '' && !operation.queryNames.has(name)) unread.push({ name, input });
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!operation.headerNames.has(name)) unread.push({ name, input: `${name}: ${String(value)}` });
  }
  return unread.slice(0, MOST_INPUTS).map(({ name, input }) => ({
    input: name === 'api_key' || name === 'x-api-key' ? name : input,
    why: WHY_DROPPED.get(name) ?? 'the operation does not read it',
  }));
}

/** The rows of the table of lifetimes that an answer to a call can fall under; its body decides which one. */
export function rulesOf({ operation, request }: Call): readonly LifetimeRule[] {
  const rules = operation.lifetimeRules(request);
  return operation.keepsNotFound === false ? rules : [...rules, 'notFound'];
}
