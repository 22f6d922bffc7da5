import { ProxyError } from '../errors.ts';
import type { CanonicalRequest, Operation } from './operations.ts';

/** A validated operation with canonical parameters: what is cached is the answer to a call. */
export interface Call {
  readonly operation: Operation;
  readonly request: CanonicalRequest;
}

/** The request headers by lower-case name, as node:http gives them. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Validates what a client sent and brings it to its canonical form. Throws a {@link ProxyError} `invalid-request` that
 * names every parameter that is wrong and what would be accepted. Unknown parameters and headers are dropped.
 */
export function parseCall(operation: Operation, rawQuery: string, headers: RequestHeaders): Call {
  const given = collect(operation, rawQuery, headers);
  const parsed = operation.schema.safeParse(given);
  if (parsed.success) return { operation, request: parsed.data };
  throw invalid(parsed.error.issues.map(({ path, message }) => [...path.map(String), message].join(' ')).join('; '));
}

function collect(operation: Operation, rawQuery: string, headers: RequestHeaders): Record<string, string[]> {
  const given: Record<string, string[]> = {};
  for (const name of operation.queryNames) given[name] = [];
  for (const name of operation.headerNames) {
    const value = headers[name];
    given[name] = value === undefined ? [] : [value].flat();
  }
  for (const piece of rawQuery.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const rawName = equals < 0 ? piece : piece.slice(0, equals);
    const name = parameterName(decode(rawName, 'a parameter name'));
    if (!operation.queryNames.has(name)) continue;
    given[name]?.push(decode(equals < 0 ? '' : piece.slice(equals + 1), name));
  }
  return given;
}

/** `name[]` (axios) and `name[0]` (qs) are `name`. */
function parameterName(decoded: string): string {
  return decoded.replace(/\[[0-9]*\]$/, '').toLowerCase();
}

/** Once, and not as a form: a raw `+` stays one, so that base64 survives. */
function decode(encoded: string, name: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalid(`${name} is not valid percent-encoded UTF-8; accepted: % followed by two hex digits`);
  }
}

function invalid(message: string): ProxyError {
  return new ProxyError('invalid-request', message);
}
