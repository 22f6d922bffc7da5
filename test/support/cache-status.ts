/** The parameters of one cache's member of `Cache-Status`. */
export type CacheStatus = Readonly<Record<string, string | number | true>>;

/** The parameters in RFC 9211 2, with the types of their values. */
const TYPES: Readonly<Record<string, 'boolean' | 'integer' | 'token'>> = {
  hit: 'boolean',
  fwd: 'token',
  'fwd-status': 'integer',
  ttl: 'integer',
  stored: 'boolean',
  collapsed: 'boolean',
  detail: 'token',
};

const FORWARD_REASONS = ['bypass', 'method', 'uri-miss', 'vary-miss', 'miss', 'request', 'stale', 'partial'];
const TOKEN = /^[A-Za-z*][A-Za-z0-9!#$%&'*+\-.^_`|~:/]*$/;
const PARAMETER = /^ *; *([a-z*][a-z0-9_\-.*]*)(?:=([^;,"\s]+))?/;

/**
 * Reads the field as a structured list of one token with parameters (RFC 8941 3.1, RFC 9211 2) and returns the
 * parameters of `toncache`. Throws for anything else: a wrong syntax, a parameter given twice or of the wrong type.
 */
export function parseCacheStatus(field: string | string[] | undefined): CacheStatus {
  if (typeof field !== 'string') throw new Error(`Cache-Status is ${field === undefined ? 'missing' : 'repeated'}`);
  if (!field.startsWith('toncache')) throw new Error(`not the member of toncache: ${field}`);
  const status: Record<string, string | number | true> = {};
  let rest = field.slice('toncache'.length);
  while (rest !== '') {
    const [all, name, value] = PARAMETER.exec(rest) ?? [];
    if (all === undefined || name === undefined) throw new Error(`no parameter: ${rest} of ${field}`);
    if (name in status) throw new Error(`${name} is given twice: ${field}`);
    status[name] = parseValue(name, value, field);
    rest = rest.slice(all.length);
  }
  if (status['hit'] === true && 'fwd' in status) throw new Error(`both hit and fwd (RFC 9211 2.2): ${field}`);
  return status;
}

function parseValue(name: string, value: string | undefined, field: string): string | number | true {
  const wrong = new Error(`${name}=${value} is not of its type: ${field}`);
  switch (TYPES[name]) {
    case 'boolean':
      if (value !== undefined && value !== '?1') throw wrong;
      return true;
    case 'integer':
      if (value === undefined || !/^-?[0-9]{1,15}$/.test(value)) throw wrong;
      return Number(value);
    case 'token':
      if (value === undefined || !TOKEN.test(value)) throw wrong;
      if (name === 'fwd' && !FORWARD_REASONS.includes(value)) throw wrong;
      return value;
    default:
      throw new Error(`RFC 9211 knows no ${name}: ${field}`);
  }
}
