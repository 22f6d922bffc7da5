import {
  ACCOUNTS,
  ACTIONS,
  DIRECTIONS,
  FLAGS,
  hashes,
  LIMITS,
  NAMES,
  NO_ACCOUNTS,
  NO_HASHES,
  NOISE,
  OFFSETS,
  SEQNOS,
  SORTS,
  TIMEOUTS,
} from './dimensions.ts';

/** One request. Target and headers are templates for `Subjects`. */
export interface Row {
  /** Its name in failures and `known-differences.ts`: target and headers. */
  readonly name: string;
  readonly method: 'GET' | 'HEAD';
  /** The part after `/api/v3/`. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The parameter that a refusal must name, if only one can be wrong. */
  readonly parameter?: string;
}

/** A parameter with a question that it belongs to. */
interface Place {
  /** Operation and the other parameters that it needs. */
  readonly question: string;
  readonly parameter: string;
  /** Two values with different meanings, and one without a meaning. */
  readonly one: string;
  readonly other: string;
  readonly bad: string;
  readonly values: readonly string[];
}

const SHARDS = 'masterchainBlockShards?';
const ADJACENT = 'adjacentTransactions?';
const PENDING = 'pendingTraces?';
/** A question of each operation with an answer. */
const BLOCK_SET = `${SHARDS}seqno={seqno}`;
const AROUND = `${ADJACENT}hash={hash.base64}`;
const TRACE = `${PENDING}ext_msg_hash={message.base64}`;

const hash = { one: '{hash.base64}', other: '{parent.hex}', bad: 'nothing' };
const message = { one: '{message.base64}', other: '{second.hex}', bad: 'nothing' };
const account = { one: '{account.raw}', other: '{stranger.bounceableUrl}', bad: 'nobody' };
const flag = { one: 'true', other: 'false', bad: 'maybe' };
const number = { one: '1', other: '2', bad: 'x' };

/** Every parameter of every operation. */
const PLACES: readonly Place[] = [
  { question: SHARDS, parameter: 'seqno', one: '{seqno}', other: '{earlier}', bad: 'x', values: SEQNOS },
  { question: BLOCK_SET, parameter: 'limit', ...number, values: LIMITS },
  { question: `${BLOCK_SET}&limit=1`, parameter: 'offset', ...number, values: OFFSETS },
  { question: BLOCK_SET, parameter: 'sort', one: 'asc', other: 'desc', bad: 'up', values: SORTS },
  { question: ADJACENT, parameter: 'hash', ...hash, values: [...hashes('hash'), ...NO_HASHES] },
  { question: AROUND, parameter: 'direction', one: 'in', other: 'out', bad: 'both', values: DIRECTIONS },
  { question: AROUND, parameter: 'x_no_address_book', ...flag, values: FLAGS },
  { question: PENDING, parameter: 'ext_msg_hash', ...message, values: [...hashes('message'), ...NO_HASHES] },
  { question: PENDING, parameter: 'account', ...account, values: [...ACCOUNTS, ...NO_ACCOUNTS] },
  { question: TRACE, parameter: 'supported_action_types', one: 'latest', other: 'v2', bad: 'x', values: ACTIONS },
  { question: TRACE, parameter: 'x_no_address_book', ...flag, values: FLAGS },
  { question: TRACE, parameter: 'x_no_metadata', ...flag, values: FLAGS },
];

/** Every setting that has a header, with its spelling in the query. */
const HEADERS: readonly (readonly [question: string, header: string, parameter: string, values: readonly string[]])[] =
  [
    [TRACE, 'X-Actions-Version', 'supported_action_types', ACTIONS],
    [TRACE, 'X-No-Address-Book', 'x_no_address_book', FLAGS],
    [TRACE, 'X-No-Metadata', 'x_no_metadata', FLAGS],
    [AROUND, 'X-No-Address-Book', 'x_no_address_book', FLAGS],
  ];

const QUESTIONS = [BLOCK_SET, AROUND, TRACE, `${PENDING}account={account.raw}`];

/** All rows, each once. */
export function inputTable(): Row[] {
  const rows = [
    ...PLACES.flatMap((place) =>
      [...valuesOf(place), ...namesOf(place), ...repetitionsOf(place)].map((one) => ({
        ...one,
        parameter: place.parameter,
      })),
    ),
    ...lists(),
    ...HEADERS.flatMap(([question, header, parameter, values]) => headersOf(question, header, parameter, values)),
    ...QUESTIONS.flatMap((question) => [...surroundings(question), ...timeouts(question)]),
    ...unread(),
    row(`${ADJACENT}hash[][]={hash.base64}`),
    row(`${ADJACENT}hash={hash.base64},{parent.hex}`),
    row(`${BLOCK_SET}&sort=&sort=`),
  ];
  return [...new Map(rows.map((one) => [one.name, one])).values()];
}

function valuesOf({ question, parameter, values }: Place): Row[] {
  return [
    row(question),
    row(`${joined(question)}${parameter}`),
    ...values.map((value) => row(`${joined(question)}${parameter}=${value}`)),
  ];
}

function namesOf({ question, parameter, one }: Place): Row[] {
  return NAMES.map((name) => row(`${joined(question)}${name(parameter)}=${one}`));
}

/** Twice the same, and every pair of a right, another right, a bad and an empty value. */
function repetitionsOf({ question, parameter, one, other, bad }: Place): Row[] {
  const pairs = [one, other, bad, ''].flatMap((first) => [one, other, bad, ''].map((second) => [first, second]));
  const twice = pairs.map(([first, second]) => `${joined(question)}${parameter}=${first}&${parameter}=${second}`);
  return [...twice, `${joined(question)}${parameter}=${one}&${parameter}[]=${one}`].map((target) => row(target));
}

/** Commas, empty members, orders and lengths of the lists. */
function lists(): Row[] {
  const [a, b] = [message.one, message.other];
  const hashLists = [`${a},`, `,${a}`, ',', ',,', `${a},,${b}`, `${a},${b}`, `${b},${a}`, `${a}%2C${b}`, `${a},${a}`];
  const bad = [`${a},nothing`, `nothing,${a}`, `${a};${b}`, `${a}%20${b}`, `${a},%20${b}`];
  const many = (count: number) => Array.from({ length: count }, (_, n) => n.toString(16).padStart(64, '0')).join(',');
  const queries = [
    ...[...hashLists, ...bad].map((list) => `ext_msg_hash=${list}`),
    `ext_msg_hash[0]=${a}&ext_msg_hash[1]=${b}`,
    `ext_msg_hash=${a}&EXT_MSG_HASH=${b}`,
    ...[100, 101, 200].map((count) => `ext_msg_hash=${many(count)},${a}`),
    `account=${account.one}&ext_msg_hash=${b}`,
    `account=${account.one}&ext_msg_hash=`,
    `account=${account.one}&ext_msg_hash=nothing`,
    `account=nobody&ext_msg_hash=${a}`,
    `account=&ext_msg_hash=${a}`,
    `account=${account.one}&account=${account.one}&account={account.nonBounceableUrl}`,
    `account=${account.one},${account.other}`,
    'supported_action_types=latest',
  ];
  const types = [
    'nft&supported_action_types=dns.v2',
    'dns.v2&supported_action_types=nft',
    'nft,dns.v2',
    'v1&supported_action_types[]=v2',
  ];
  return [
    ...queries.map((query) => row(PENDING + query)),
    ...types.map((list) => row(`${TRACE}&supported_action_types=${list}`)),
  ];
}

function headersOf(question: string, header: string, parameter: string, values: readonly string[]): Row[] {
  const written = values.map((value) => decodeURIComponent(value));
  const [one = '', , , two = ''] = values;
  return [
    ...written.map((value) => row(question, { [header]: value })),
    row(question, { [header.toLowerCase()]: one }),
    row(question, { [header]: [one, one] }),
    row(question, { [header]: [one, 'v2'] }),
    // The header wins, with any value.
    row(`${question}&${parameter}=${one}`, { [header]: '' }),
    row(`${question}&${parameter}=${one}`, { [header]: 'false' }),
    row(`${question}&${parameter}=false`, { [header]: one }),
    row(`${question}&${parameter}=${one}`, { [header]: two }),
    // The header's name is not a parameter.
    row(`${question}&${header}=${one}`),
    row(`${question}&${header.toLowerCase().replaceAll('-', '_')}=${one}`),
  ];
}

/** Noise around a question, and ways to write its path. */
function surroundings(question: string): Row[] {
  const [operation = '', query = ''] = question.split('?');
  const paths = [
    operation.toLowerCase(),
    operation.toUpperCase(),
    `${operation}/`,
    `${operation}//`,
    `${operation.slice(0, -1)}`,
  ];
  return [
    row(question),
    row(question, {}, 'HEAD'),
    ...NOISE.flatMap((noise) => [row(`${question}&${noise}`), row(`${operation}?${noise}&${query}`)]),
    row(`${operation}??${query}`),
    ...paths.map((path) => row(`${path}?${query}`)),
    row(question, { Accept: 'text/html', 'User-Agent': 'wallet/1.0', 'X-Api-Key': 'secret', Cookie: 'a=b' }),
  ];
}

function timeouts(question: string): Row[] {
  return TIMEOUTS.flatMap((value) => [row(`${question}&x_timeout=${value}`), row(question, { 'X-Timeout': value })]);
}

/** Settings of other operations. */
function unread(): Row[] {
  return [
    row(BLOCK_SET, { 'X-No-Address-Book': 'true', 'X-No-Metadata': 'true', 'X-Actions-Version': 'latest' }),
    row(`${BLOCK_SET}&x_no_address_book=true&x_no_metadata=maybe&direction=in&hash=nothing`),
    row(AROUND, { 'X-No-Metadata': 'true', 'X-Actions-Version': 'latest' }),
    row(`${AROUND}&x_no_metadata=true&limit=0&seqno=x&account=nobody`),
    row(`${TRACE}&limit=0&offset=-1&sort=up&seqno=x&hash=nothing&direction=both`),
  ];
}

function joined(question: string): string {
  return question.endsWith('?') ? question : `${question}&`;
}

function row(target: string, headers: Row['headers'] = {}, method: Row['method'] = 'GET'): Row {
  const written = Object.entries(headers).map(([header, value]) => `${header}: ${[value].flat().join(' | ')}`);
  const name = [...(method === 'GET' ? [] : [method]), target, ...written].join('  ');
  return { name, method, target, headers };
}
