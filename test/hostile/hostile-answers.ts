import { gzipSync } from 'node:zlib';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';

/** The bytes that the indexer writes for one request. */
export interface HostileAnswer {
  readonly name: string;
  /** In latin1; each with a pause in ms before it. */
  readonly parts: readonly (string | Buffer)[];
  readonly pauseMs?: number;
  readonly ending: 'close' | 'reset' | 'stay open';
}

/** A client must never get an answer that contains this. */
export const POISON = 'poison';

const MIB = 1024 * 1024;
const OK = 'HTTP/1.1 200 OK\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const BODY = '{"blocks":[{"workchain":-1,"shard":"8000000000000000","seqno":7}]}';

/** A head, and a body of that length. */
const answer = (body: string | Buffer, headers = '', status = '200 OK') => [
  `HTTP/1.1 ${status}\r\n${JSON_TYPE}${headers}Content-Length: ${body.length}\r\n\r\n`,
  body,
];
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

// Large answers are built once.
const BOMB = gzipSync(`{"blocks":[],"padding":"${'a'.repeat(64 * MIB)}"}`);
const LARGE: readonly (readonly [string, string])[] = [
  ['a long number', `{"blocks":[],"a":${'1'.repeat(6 * MIB)}}`],
  ['a long string', `{"blocks":[],"a":"${'\\u0041'.repeat(MIB)}"}`],
];

type Maker = (random: SeededRandom) => Omit<HostileAnswer, 'name' | 'ending'>;

const MAKERS: Readonly<Record<string, Maker>> = {
  garbage: (random) => ({ parts: [garbage(random, random.int(0, 5000))] }),
  'garbage as a body': (random) => ({ parts: answer(garbage(random, random.int(0, 5000))) }),
  'flipped bytes': (random) => {
    const bytes = Buffer.from(answer(BODY).join(''));
    for (let times = random.int(1, 5); times > 0; times--) bytes[random.int(0, bytes.length - 1)] = random.int(0, 255);
    return { parts: [bytes] };
  },
  'JSON cut short': (random) => ({ parts: answer(BODY.slice(0, random.int(0, BODY.length - 1))) }),
  'wrong types': (random) => {
    const value = random.pick([
      '0',
      'null',
      '"x"',
      '{}',
      'true',
      '[null]',
      '[[]]',
      '[0]',
      '["x"]',
      '[{"seqno":{}}]',
      '1e999',
    ]);
    return { parts: answer(random.pick([`{"blocks":${value}}`, value, `{"__proto__":{"blocks":${value}}}`])) };
  },
  large: (random) => {
    const [, body] = random.pick(LARGE);
    return {
      parts: random.chance(0.5) ? answer(body) : answer(gzipSync(body, { level: 1 }), 'Content-Encoding: gzip\r\n'),
    };
  },
  'too large': (random) => ({
    parts: [`${OK}Content-Length: ${random.pick([9 * MIB, 2 ** 40])}\r\n\r\n`, BODY, 'x'.repeat(9 * MIB)],
  }),
  'without an end': () => ({
    parts: [`${OK}Transfer-Encoding: chunked\r\n\r\n`, ...Array.from({ length: 12 }, () => chunk('x'.repeat(MIB)))],
  }),
  'a gzip bomb': () => ({ parts: answer(BOMB, 'Content-Encoding: gzip\r\n') }),
  'gzip that is broken': (random) => {
    const packed = gzipSync(BODY);
    packed[random.int(0, packed.length - 1)] = random.int(0, 255);
    return { parts: answer(packed.subarray(0, random.int(1, packed.length)), 'Content-Encoding: gzip\r\n') };
  },
  'an encoding of a name': (random) => ({
    parts: answer(
      BODY,
      `Content-Encoding: ${random.pick(['gzip', 'br', 'zstd', 'gzip, gzip', 'x', 'identity, br'])}\r\n`,
    ),
  }),
  'bad chunks': (random) => ({
    parts: [
      `${OK}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`,
      chunk(BODY.slice(0, 20)),
      random.pick([
        'zz\r\n',
        '-1\r\n',
        '\r\n\r\n',
        `${'f'.repeat(20)}\r\n`,
        chunk(BODY.slice(20)),
        `2\r\n${BODY}`,
        '0\n\n',
      ]),
    ],
  }),
  'a wrong length': (random) => ({
    parts: [
      `${OK}Content-Length: ${random.pick(['0', '1', BODY.length + 1, -1, 'x', '', `${BODY.length}, 3`, '9'.repeat(30)])}\r\n\r\n${BODY}`,
    ],
  }),
  'two framings': (random) => ({
    parts: [
      `${OK}Content-Length: ${random.pick([0, BODY.length])}\r\n${random.pick(['Transfer-Encoding: chunked', 'Content-Length: 5'])}\r\n\r\n`,
      random.pick([BODY, chunk(BODY) + chunk('')]),
    ],
  }),
  'many headers': (random) => ({
    parts: [OK, 'X: y\r\n'.repeat(random.int(1000, 200_000)), `Content-Length: ${BODY.length}\r\n\r\n${BODY}`],
  }),
  'a large header': (random) => ({ parts: [`${OK}X: `, 'x'.repeat(random.int(10_000, 2 * MIB)), `\r\n\r\n${BODY}`] }),
  'odd headers': (random) => ({
    parts: answer(
      BODY,
      `${random.pick(['Content-Type', 'X-API-Version', 'Retry-After', 'Content-Encoding', 'X\0'])}: ${random.pick(['\0', '\xff', '', 'a\tb', '-1', '9'.repeat(400), '\x7f'])}\r\n`,
    ),
  }),
  'many interim answers': (random) => ({
    parts: [`HTTP/1.1 ${random.pick([100, 102, 103])} X\r\n\r\n`.repeat(random.int(1, 20_000)), ...answer(BODY)],
  }),
  'a switch of protocols': () => ({ parts: ['HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', BODY] }),
  'any status': (random) => ({
    parts: answer(random.pick([BODY, '{"error":"x"}', '<html>', '']), '', `${random.int(0, 1100)} X`),
  }),
  'two answers': () => {
    const second = `{"blocks":[],"x":"${POISON}"}`;
    return { parts: [...answer(BODY), ...answer(second), ...answer(second)] };
  },
  nothing: () => ({ parts: [] }),
  'a head and nothing': (random) => ({
    parts: [random.pick([OK, `${OK}\r\n`, `${OK}Content-Length: 9\r\n\r\n`, 'HTTP/1.1'])],
  }),
  'byte by byte': (random) => {
    const bytes = answer(BODY).join('');
    return { parts: [...bytes], pauseMs: random.int(1, 100) };
  },
};

const KINDS = Object.keys(MAKERS);

export function randomAnswer(random: SeededRandom): HostileAnswer {
  const name = random.pick(KINDS);
  const made = MAKERS[name]?.(random) ?? { parts: [] };
  return { name, ...made, ending: random.pick(['close', 'reset', 'stay open']) };
}

function garbage(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.int(0, 255)));
}
