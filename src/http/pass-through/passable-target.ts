import type { OperationsInUse } from '../../ton/operations.ts';
import { isBlankKey, isKeyName } from './forwarded-headers.ts';

/**
 * The origin form (RFC 9112 3.2.1) with a path of RFC 3986's characters; a query may contain every visible ASCII
 * character except `#` and `\`.
 */
const ORIGIN_FORM = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*(?:\?[\x21\x22\x24-\x5b\x5d-\x7e]*)?$/;

/** Encoded slashes and backslashes, and dots that are encoded twice: two servers may read such a path differently. */
const HIDDEN = /%(?:25)*(?:2f|5c)|%(?:25)+2e/i;

/**
 * True if a request target may be passed on byte for byte. A target that another server could read as another path is
 * refused under every prefix: dot or empty segments, backslashes, encoded slashes, control bytes, spellings that do not
 * decode, and every form but the origin form (RFC 9112 3.2.1), so that the request can never go to another host.
 */
export function isPassable(target: string): boolean {
  const [path = ''] = target.split('?', 1);
  if (!ORIGIN_FORM.test(target) || HIDDEN.test(path)) return false;
  const decoded = decodedOnce(path);
  if (decoded === undefined || /[[\p{Cc}&&\p{ASCII}]\\]/v.test(decoded)) return false;
  const segments = decoded.slice(1).split('/');
  // A trailing slash is a spelling of the same path, not an empty segment inside it.
  if (segments.at(-1) === '') segments.pop();
  return segments.every((segment) => segment !== '' && !/^\.{1,2}(?:;|$)/.test(segment));
}

const RUN_GET_METHOD = /^\/api\/v3\/rungetmethod\/?$/i;

/** True for `POST runGetMethod`: it changes nothing, like a GET. */
export function runsGetMethod(method: string | undefined, target: string): boolean {
  const [path = ''] = target.split('?', 1);
  return method === 'POST' && RUN_GET_METHOD.test(path);
}

/** The maximum number of times that servers in a row decode a path. */
const MOST_DECODINGS = 3;

/**
 * The key of a request for admission: its method and path, in one form for all spellings that indexers read as one. The
 * target must be passable.
 */
export function pathKey(method: string, target: string): string {
  const [path = ''] = target.split('?', 1);
  return `${method} ${decodeURIComponent(path).toLowerCase().replace(/\/$/, '')}`;
}

/**
 * True if a server may read a path as that of a cached operation although it is spelled differently: with plain letters
 * encoded, perhaps more than once, or with parameters of segments (RFC 3986 3.3), which some servers drop.
 */
export function hidesOperation(path: string, operations: OperationsInUse): boolean {
  let reading = path;
  for (let times = 0; times < MOST_DECODINGS; times++) reading = decodedOnce(reading) ?? reading;
  const plain = reading.replace(/;[^/]*/g, '').replace(/\/{2,}/g, '/');
  return operations.at(plain) !== operations.at(path);
}

/** `undefined` for an invalid encoding. */
function decodedOnce(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/**
 * True if a target has an API key that is not blank. It counts like the header `X-Api-Key`. Servers differ in the
 * separator of parameters, so a semicolon counts as well.
 */
export function hasApiKey(target: string): boolean {
  return partsOfQuery(target).some((part) => namesKey(part) && !isBlankKey(valueIn(part)));
}

/** A target without the parameters whose names look like an API key, the rest of it byte for byte. */
export function withoutApiKeys(target: string): string {
  const parts = partsOfQuery(target);
  if (!parts.some(namesKey)) return target;
  const [path = ''] = target.split('?', 1);
  const query = parts.filter((part) => !namesKey(part)).join('');
  return query === '' ? path : `${path}?${query.replace(/^[&;]/, '')}`;
}

/** Each parameter with the separator before it. */
function partsOfQuery(target: string): string[] {
  const mark = target.indexOf('?');
  return mark < 0 ? [] : target.slice(mark + 1).split(/(?=[&;])/);
}

/** Decodes like a form, and never throws. */
const parameterIn = (part: string) => [...new URLSearchParams(part.replace(/^[&;]/, ''))][0] ?? ['', ''];
const namesKey = (part: string) => isKeyName(parameterIn(part)[0]);
const valueIn = (part: string) => parameterIn(part)[1];
