import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { ask, connectTo } from '../support/http-client.ts';
import { type Arena, type Attack, attackUntilOver } from './attack.ts';
import { readEcho, startEchoIndexer } from './echo-indexer.ts';
import { type RawAnswer, readAnswers } from './raw-answers.ts';
import { receiveAll, writeInPieces } from './raw-connection.ts';
import { withVictim } from './victim.ts';

const WORKERS = 12;
const MOST_REQUESTS = 60;
const DEADLINE_MS = 30_000;
const WARM_ROUNDS = 30;
const PATH = '/api/v3/masterchainBlockShards?seqno=';

/**
 * Connections pipeline every kind of request, cut at any byte: each request is answered once, in order, with correct
 * framing.
 */
export const pipelines: Attack = { name: 'pipelines in order', run };

interface Request {
  readonly method: string;
  readonly target: string;
  readonly id: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  readonly status: number;
}

async function run(arena: Arena): Promise<void> {
  await using indexer = await startEchoIndexer();
  indexer.latencyMs = () => (arena.random.chance(0.2) ? arena.random.int(1, 30) : 0);
  await withVictim(arena, { env: { UPSTREAM_URL: indexer.url } }, async ({ url }) => {
    for (let seqno = 0; seqno < WARM_ROUNDS; seqno++) await ask(url, PATH + seqno);
    await attackUntilOver(arena, WORKERS, () => pipeline(arena, url));
  });
  for (const reason of indexer.malformed) arena.tally.violation('the indexer got a malformed request', reason);
}

async function pipeline({ random, tally }: Arena, url: string): Promise<void> {
  const requests = Array.from({ length: random.int(0, MOST_REQUESTS) }, () => randomRequest(random));
  // The last request closes the connection. It has no body: Node answers before it has read a body, and the system of a
  // client drops unread answers at a reset (RFC 9112 9.6).
  requests.push({ method: 'GET', target: PATH + random.int(0, WARM_ROUNDS - 1), id: LAST_ID, status: 200 });
  const bytes = requests.map((request, index) => written(request, index === requests.length - 1, random)).join('');
  const socket = connectTo(url);
  const received = receiveAll(socket, { deadlineMs: DEADLINE_MS });
  await writeInPieces(socket, bytes, random);
  const problem = problemOf(requests, await received, tally);
  tally.count('connections');
  if (problem !== undefined)
    tally.violation('a pipeline that is not answered right', `${problem}\n${JSON.stringify(bytes)}`);
}

const LAST_ID = 'id-last';
let requestsSoFar = 0;

function randomRequest(random: SeededRandom): Request {
  const number = requestsSoFar++;
  const id = `id-${number}`;
  const miss = PATH + (1000 + number);
  const known = PATH + random.int(0, WARM_ROUNDS - 1);
  const target = random.pick([miss, known, known]);
  const bait = `GET ${PATH}666 HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(random.int(0, 3));
  const chunks = `${bait.length.toString(16)}\r\n${bait}\r\n0\r\n\r\n`;
  const length = [`Content-Length: ${bait.length}`];
  const chunked = ['Transfer-Encoding: chunked'];
  return random.pick<Request>([
    { method: 'GET', target: known, id, status: 200 },
    { method: 'GET', target: miss, id, status: 200 },
    { method: 'HEAD', target, id, status: 200 },
    { method: 'GET', target, id, status: 304, headers: ['If-None-Match: *'] },
    { method: 'GET', target, id, status: 200, headers: length, body: bait },
    ...(bait === '' ? [] : [{ method: 'GET', target, id, status: 200, headers: chunked, body: chunks }]),
    { method: 'POST', target, id, status: 405, headers: length, body: bait },
    ...(bait === '' ? [] : [{ method: 'PUT', target, id, status: 405, headers: chunked, body: chunks }]),
    { method: 'GET', target: `/no/${number}`, id, status: 404 },
    { method: 'HEAD', target: `/no/${number}`, id, status: 404 },
    { method: 'GET', target: `${PATH}x${number}`, id, status: 422 },
    { method: 'HEAD', target: `${PATH}x${number}`, id, status: 422 },
    { method: 'OPTIONS', target, id, status: 204 },
  ]);
}

function written(
  { method, target, id, headers = [], body = '' }: Request,
  isLast: boolean,
  random: SeededRandom,
): string {
  // RFC 9112 2.2: an empty line before a request is ignored.
  const before = random.chance(0.05) ? '\r\n' : '';
  const closing = isLast ? ['Connection: close'] : [];
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', `X-Request-Id: ${id}`, ...headers, ...closing];
  return `${before}${lines.join('\r\n')}\r\n\r\n${body}`;
}

function problemOf(
  requests: readonly Request[],
  received: string | undefined,
  tally: Arena['tally'],
): string | undefined {
  if (received === undefined) return `not all answered after ${DEADLINE_MS} ms`;
  const { answers, problem } = readAnswers(
    received,
    requests.map(({ method }) => method),
  );
  for (const [index, answer] of answers.entries()) {
    const request = requests[index];
    if (request === undefined) return `an answer to no request: ${answer.status}`;
    const wrong = differenceOf(request, answer);
    if (wrong !== undefined) return `${request.method} ${request.target}, ${index + 1} of ${requests.length}: ${wrong}`;
    tally.count('answers');
    if (answer.headers.get('cache-status')?.includes('hit')) tally.count('hits');
  }
  if (problem !== undefined) return problem;
  return answers.length < requests.length ? `only ${answers.length} of ${requests.length} were answered` : undefined;
}

function differenceOf(request: Request, { status, headers, body }: RawAnswer): string | undefined {
  const isRefused = status === 503 && request.target.startsWith(PATH);
  if (status !== request.status && !isRefused) return `status ${status} instead of ${request.status}`;
  // Hits of the memory tier do not repeat this header.
  const id = headers.get('x-request-id');
  const isHit = headers.get('cache-status')?.includes('hit');
  if (id !== request.id && !(id === undefined && isHit)) return `the answer to ${id} instead of ${request.id}`;
  if (status !== 200 || request.method === 'HEAD') return undefined;
  const target = readEcho(status, body)?.target;
  return target === request.target ? undefined : `the answer to ${target}`;
}
