import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { changedBytes } from '../hostile/changed-bytes.ts';
import { FORMS } from '../hostile/smuggling-forms.ts';

// The bytes that clients send, in latin1: requests one after another, some with a few changed bytes. Queries that begin
// with `hit` are answered from memory, queries with `miss` later.

const TARGETS = [
  ...['hit', 'hit', 'hit', 'hit&seqno=7', 'miss', 'miss&x=[]', 'bad', 'hit#x', 'hit"', 'hit%20', '', '?', 'hit\x80'],
].map((query) => `/api/v3/masterchainBlockShards?${query}`);
const ODD_TARGETS = [
  '/api/v3/pendingTraces?hit',
  '/api/v3/adjacentTransactions?miss',
  '/api/v3/masterchainBlockShards',
  '/api/v3/masterchainBlockShards/?hit',
  '/API/v3/masterchainBlockShards?hit',
  'http://x/api/v3/masterchainBlockShards?hit',
  '/api/v3/somethingElse?hit',
  '/api/v3/',
  '/',
  '*',
];
const LARGE = '/api/v3/masterchainBlockShards?hit-large';
const METHODS = ['GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'get', 'GETS', 'DELETE'];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', ''];
const FIELDS = [
  'Accept: */*',
  'User-Agent: a client/1.0 (of "this" machine; x=y)',
  'Connection: keep-alive',
  'connection:Keep-Alive \t',
  'If-None-Match: "tag of hit"',
  'If-None-Match: *',
  'IF-NONE-MATCH:"tag of miss", W/"tag of hit"',
  'X-Request-Id: mine',
  'X-Request-Id: not fit',
  'X-Actions-Version: latest',
  'x-no-address-book:true',
  'Cookie: a=b',
  'Empty:',
  'Accept-Encoding: gzip, br',
  'X-Api-Key: secret',
];
const ODD_FIELDS = [
  'Host: y',
  'Connection: close',
  'Connection: keep-alive, close',
  'Connection: upgrade',
  'Proxy-Connection: close',
  'Content-Length: 0',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Expect: x',
  'Upgrade: h2c',
  'TE: trailers',
  'Trailer: x',
  ' folded',
  'no colon',
  ': no name',
  'Name : x',
  'Host : x',
  'X: \x80\xff',
  'X: a\0b',
  'X: a\x7fb',
  'X: a\x0bb',
];
const ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n '];

/** One request. `oddity` (0 to 1): how unusual it is. */
export function someRequest(random: SeededRandom, oddity: number): string {
  const isOdd = () => random.chance(oddity);
  const method = isOdd() ? random.pick(METHODS) : 'GET';
  const target = isOdd() ? random.pick([...ODD_TARGETS, LARGE]) : random.pick(isOdd() ? TARGETS : TARGETS.slice(0, 6));
  const version = isOdd() ? random.pick(VERSIONS) : 'HTTP/1.1';
  const fields = Array.from({ length: random.int(0, 4) }, () => random.pick(isOdd() ? ODD_FIELDS : FIELDS));
  if (!isOdd()) fields.splice(random.int(0, fields.length), 0, 'Host: x');
  const lines = [`${method} ${target} ${version}`, ...fields].map(
    (line) => line + (isOdd() ? random.pick(ENDS) : '\r\n'),
  );
  const request = `${lines.join('')}\r\n`;
  return isOdd() ? changedBytes(request, random) : request;
}

/** A few requests that are sent together. */
export function someStream(random: SeededRandom): string {
  if (random.chance(0.05)) {
    const hidden = someRequest(random, 0);
    return random.pick(SHORT_FORMS).write('GET /api/v3/masterchainBlockShards?hit', hidden);
  }
  const oddity = random.pick([0, 0.01, 0.03, 0.1]);
  return Array.from({ length: random.int(1, 5) }, () => someRequest(random, oddity)).join('');
}

/** Known tricks, without those that need a large size. */
const SHORT_FORMS = FORMS.filter(({ write }) => write('GET /', '').length < 10_000);

/** The stream, split into reads as a server could get them. */
export function someReads(bytes: string, random: SeededRandom): string[] {
  const cuts = Array.from({ length: random.pick([0, 0, 1, 2, 5]) }, () => random.int(1, Math.max(1, bytes.length - 1)));
  const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.slice(places[i], end));
}
