// Possible values of a parameter, in templates for `Subjects`: percent-encoded if a client would have to.

const HASH_SPELLINGS = [
  'base64',
  'base64Unpadded',
  'base64url',
  'base64urlUnpadded',
  'hex',
  'hexUpper',
  'hexPrefixed',
] as const;

const ADDRESS_SPELLINGS = [
  'raw',
  'rawLower',
  'bounceable',
  'bounceableUrl',
  'nonBounceable',
  'nonBounceableUrl',
  'testnetBounceable',
  'testnetBounceableUrl',
  'testnetNonBounceable',
  'testnetNonBounceableUrl',
] as const;

const WRITINGS = ['', ':raw', ':lower', ':spaced'] as const;

/** Every spelling of a hash, in every encoding. */
export function hashes(name: 'hash' | 'message'): string[] {
  return HASH_SPELLINGS.flatMap((spelling) => WRITINGS.map((writing) => `{${name}.${spelling}${writing}}`));
}

/** Not a hash in any version, or only in some. */
export const NO_HASHES = [
  'nothing',
  '%',
  '%zz',
  '%ff%fe',
  '%C3%28',
  'A'.repeat(42),
  `${'A'.repeat(42)}%3D%3D`,
  'A'.repeat(44),
  'A'.repeat(45),
  'ab'.repeat(31),
  `${'ab'.repeat(31)}a`,
  'g'.repeat(64),
  `0X${'ab'.repeat(32)}`,
  `0x${'ab'.repeat(33)}`,
  `%20${'A'.repeat(43)}%3D`,
  `${'A'.repeat(42)}%2B_`,
] as const;

/** Every spelling of an account, in every encoding. */
export const ACCOUNTS = ADDRESS_SPELLINGS.flatMap((spelling) =>
  WRITINGS.map((writing) => `{account.${spelling}${writing}}`),
);

const HEX = 'ab'.repeat(32);

/** Not an account in any version, or only in some. */
export const NO_ACCOUNTS = [
  'nobody',
  HEX,
  `:${HEX}`,
  `0:${HEX}0`,
  `0:${HEX.slice(2)}`,
  `00:${HEX}`,
  `%2B0:${HEX}`,
  `-0:${HEX}`,
  `128:${HEX}`,
  `-129:${HEX}`,
  `2147483648:${HEX}`,
  'A'.repeat(48),
  '{account.bounceableUrl}A',
  '{account.unknownTag}',
  '%20{account.raw}%20',
  'null',
  'addr_none',
] as const;

export const DIRECTIONS = ['in', 'out', 'both', '--', '', 'IN', 'Out', 'all', 'in,out', '%20in', 'in%00'] as const;

export const SEQNOS = [
  '{seqno}',
  '0{seqno}',
  '%2B{seqno}',
  '{later}',
  '{wrapped}',
  '0',
  '',
  '-1',
  '1.0',
  '1e3',
  '0x10',
  'many',
  '%201',
  '1%20',
  '1%00',
  // A digit beyond ASCII, and one that would be right if it were decoded twice.
  '%EF%BC%91',
  '%2531',
  '2147483647',
  '2147483648',
  '99999999999999999999',
] as const;

export const LIMITS = ['1', '2', '01', '%2B1', '1000', '', '0', '-1', '1001', '1.5', 'all', '2147483648'] as const;

export const OFFSETS = ['0', '1', '007', '1000', '2147483647', '', '-1', '-0', 'x', '2147483648'] as const;

export const SORTS = ['asc', 'desc', 'ASC', 'a', 'D', '', 'up', 'asc%20'] as const;

export const FLAGS = [
  ...['1', 't', 'T', 'true', 'TRUE', 'True'],
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'],
  ...['', 'yes', 'no', '2', 'tRUE', 'null', 'true%20'],
] as const;

export const ACTIONS = [
  ...['latest', 'v1', 'v2', 'v3', 'v9', 'V2', 'LATEST'],
  ...['nft', 'nft.v3', 'dns', 'dns.v2', 'multisig', 'multisig_approve', 'contract_call'],
  ...['', 'unheard_of', 'v1,v2', 'latest,', 'latest,latest', 'a'.repeat(64), 'a'.repeat(65)],
] as const;

/** Ways to write a parameter's name. */
export const NAMES: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  (name) => `${name}[]`,
  (name) => `${name}%5B%5D`,
  (name) => `${name}[0]`,
  (name) => `${name}%5b12%5d`,
  (name) => `${name}[x]`,
  (name) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name) => `%25${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  (name) => `%20${name}`,
];

/** Parameters that real clients add, and others that no client should: no indexer reads any of them. */
export const NOISE = [
  '_=1700000000000',
  'include_actions=true',
  'api_key=secret',
  'traceId=1&limits=many',
  'x=%zz',
  'x=%ff',
  '%zz=1',
  'x[y][z]=1',
  'x[=1',
  'x=a+b',
  '',
  '&',
  '=',
] as const;

export const TIMEOUTS = ['3000', '', 'soon', '1', '0', '-5'] as const;
