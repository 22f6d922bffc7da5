import type { z } from 'zod';
import { failure, ProxyError } from '../errors.ts';
import { IF_NOT_PASSED } from '../failures/codes.ts';
import type { CanonicalRequest, Pairs } from './canonical-request.ts';
import { type GivenBody, MOST_BODY_BYTES } from './operation.ts';
import type { Operation } from './operations.ts';
import { UNDECODABLE } from './parameters.ts';
import { accountsIn } from './tags.ts';

/** A validated operation with canonical parameters. The cache holds answers to calls. */
export interface Call {
  readonly operation: Operation;
  readonly request: CanonicalRequest;
  /** The values that a purge can name, such as `seqno:7`. */
  readonly tags: readonly string[];
}

/** The masterchain block that a call is about; `undefined` if it is about none. */
export function seqnoOf({ operation, request }: Call): number | undefined {
  return operation.masterchainSeqno?.(request);
}

/** The request of a call to the indexer, with the trace of a client's request. `body`: JSON, of a `POST`. */
export function requestOf({ operation: { name: operation, body: rules }, request }: Call, trace: Pairs) {
  const body = rules?.write(request);
  return { operation, query: body === undefined ? request.query : [], headers: [...request.headers, ...trace], body };
}

/** The accounts, or the keys of `owner-keys.ts`, that touch the answer to a call. */
export function touchedBy({ operation, request, tags }: Call): readonly string[] {
  return operation.touchedBy?.(request) ?? accountsIn(tags);
}

/** The request headers by lower-case name, in node:http's form. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** True if a request has a header that may change the answer of the operation. */
export function hasHeaderOf({ headerNames }: Operation, headers: RequestHeaders): boolean {
  for (const name of headerNames) if (headers[name] !== undefined) return true;
  return false;
}

/** They do not change the answer of any operation. */
const ALWAYS_DROPPED: ReadonlySet<string> = new Set(['_', 'api_key', 'x_timeout', 'x_debug_request']);

/**
 * Validates a client's request and brings it to its canonical form. Throws a {@link ProxyError} `invalid-request` that
 * names every wrong parameter and what is accepted. Drops unknown parameters and headers. But a request for a further
 * operation with a parameter that some version of the indexer may read, or with a value outside of its schema, has no
 * cached form: then throws `not-cacheable`. `body`: that of a `POST`.
 */
export function parseCall(operation: Operation, rawQuery: string, headers: RequestHeaders, body?: Buffer): Call {
  const given = { ...collect(operation, rawQuery, headers), ...(operation.body && valuesIn(operation, body)) };
  const parsed = operation.schema.safeParse(given);
  if (parsed.success) return { operation, request: parsed.data, tags: operation.tags(parsed.data) };
  const issues = wordsOf(parsed.error.issues);
  const isRefused = parsed.error.issues.some(
    (issue) => issue.code === 'custom' && issue.params?.['isRefused'] === true,
  );
  throw operation.isFurther && !isRefused
    ? failure('not-cacheable', { values: { operation: operation.name, issues } })
    : new ProxyError('invalid-request', issues);
}

function valuesIn({ name: operation, body: rules }: Operation, body: Buffer | undefined): GivenBody {
  const given = body === undefined || body.length > MOST_BODY_BYTES ? undefined : rules?.read(body);
  if (given === undefined) throw failure('not-cacheable', { text: 'body', values: { operation } });
  return given;
}

/** Why a request has no cached form, by the failure of {@link parseCall}; `undefined` for any other failure. */
export function whyUncached(error: unknown): string | undefined {
  const isUncached = error instanceof ProxyError && error.code === 'not-cacheable';
  return isUncached ? error.details.explained?.replace(IF_NOT_PASSED, '') : undefined;
}

function wordsOf(issues: readonly z.core.$ZodIssue[]): string {
  return issues.map(({ path, message }) => [...path.map(String), message].join(' ')).join('; ');
}

function collect(operation: Operation, rawQuery: string, headers: RequestHeaders): Record<string, string[]> {
  const given: Record<string, string[]> = {};
  for (const name of operation.queryNames) given[name] = [];
  for (const name of operation.headerNames) given[name] = headerValues(headers[name]);
  for (const piece of rawQuery.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const name = parameterNameOf(piece);
    if (!operation.queryNames.has(name)) {
      if (!operation.isFurther || ALWAYS_DROPPED.has(name) || operation.unread.has(name)) continue;
      const parameters = [...operation.queryNames].join(', ') || 'none';
      throw failure('not-cacheable', { text: 'parameter', values: { operation: operation.name, parameters } });
    }
    given[name]?.push(decode(equals < 0 ? '' : piece.slice(equals + 1)));
  }
  return given;
}

/** A header that was sent twice arrives as one value with a comma (RFC 9110 5.3), and is split again. */
function headerValues(value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  return [value].flat().flatMap((line) => (line.includes(',') ? line.split(',').map((part) => part.trim()) : line));
}

/** The name of a piece of a query (`name=value`), decoded and in lower case. */
export function parameterNameOf(piece: string): string {
  const equals = piece.indexOf('=');
  return parameterName(decode(equals < 0 ? piece : piece.slice(0, equals)));
}

/**
 * `name[]` (axios) is `name`, in any case, as in the indexer; `name[0]` is a parameter that the indexer ignores. Only
 * `ext_msg_hash[0]` (qs) is read: it can only mean one hash of the list.
 */
function parameterName(decoded: string): string {
  const name = decoded.endsWith(']') ? decoded.replace(/\[\]$|(?<=^ext_msg_hash)\[[0-9]+\]$/i, '') : decoded;
  return name.toLowerCase();
}

/** Decodes once, and not as a form: a raw `+` stays a `+`, as base64 needs it. */
function decode(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return UNDECODABLE;
  }
}
