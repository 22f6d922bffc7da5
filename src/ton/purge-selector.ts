import { ProxyError } from '../errors.ts';
import { isObject } from '../json-object.ts';
import { accounts, hash, seqno } from './parameters.ts';
import { type Named, tagOf } from './tags.ts';

/** The target of a purge: answers to requests with this seqno, hash or account, or everything. */
export type Selector = Named | 'all';

export interface PurgeRequest {
  readonly selector: Selector;
  /** The canonical value; `true` for all. */
  readonly value: number | string | true;
  /** The tag of the entries that the purge covers. */
  readonly tag: string;
}

/** The tag of everything. */
const ALL = '*';

const ACCEPTED = 'one of seqno, hash, account, all';

/**
 * Reads the body of a purge: exactly one selector with its value in any spelling. Throws a {@link ProxyError}
 * `invalid-request` that names the field and what would be accepted.
 */
export function parsePurge(body: unknown): PurgeRequest {
  if (!isObject(body)) throw invalid(`the body is not a JSON object; accepted: ${ACCEPTED}`);
  const names = Object.keys(body);
  const unknown = names.find((name) => !isSelector(name));
  if (unknown !== undefined) throw invalid(`${unknown.slice(0, 64)} is not known; accepted: ${ACCEPTED}`);
  const [selector] = names.filter(isSelector);
  if (selector === undefined) throw invalid(`nothing is named that is to be purged; accepted: ${ACCEPTED}`);
  if (names.length > 1) throw invalid(`${names.join(' and ')} are given together; accepted: ${ACCEPTED}`);
  if (selector !== 'all') {
    const value = readValue(selector, body[selector]);
    return { selector, value, tag: tagOf(selector, value) };
  }
  if (body[selector] !== true) throw invalid('all is not valid; accepted: true');
  return { selector, value: true, tag: ALL };
}

/** Reads the values in the same way as the parameters of operations. */
const SCHEMAS = { seqno, hash, account: accounts.transform(([account = '']) => account) } as const;

function readValue(selector: Named, given: unknown): number | string {
  const parsed = SCHEMAS[selector].safeParse([
    typeof given === 'string' || typeof given === 'number' ? String(given) : '-',
  ]);
  if (parsed.success) return parsed.data;
  throw invalid(`${selector} ${parsed.error.issues[0]?.message}`);
}

function isSelector(name: string): name is Selector {
  return name === 'all' || Object.hasOwn(SCHEMAS, name);
}

function invalid(message: string): ProxyError {
  return new ProxyError('invalid-request', message);
}
