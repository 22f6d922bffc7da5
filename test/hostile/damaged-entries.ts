import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Redis } from 'ioredis';
import { AT } from '../../src/cache/entry-codec.ts';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { type Answered, ask } from '../support/http-client.ts';
import type { ProxyProcess } from '../support/proxy-process.ts';
import { startRedis } from '../support/redis-server.ts';
import type { Arena, Attack } from './attack.ts';
import { readEcho, startEchoIndexer } from './echo-indexer.ts';
import { withVictim } from './victim.ts';

const KEYS_A_ROUND = 100;
const AT_ONCE = 10;

/** Only entries are damaged: records of purges, leases and the rate belong to others. */
const ENTRY = Buffer.from('TNC');

/**
 * One process stores entries, and their bytes in Redis are damaged. Then a second process, which has none in memory,
 * gets the requests: each answer equals one of the indexer byte for byte, with the entity tag of its body.
 */
export const damagedEntries: Attack = { name: 'damaged entries in Redis', run };

async function run(arena: Arena): Promise<void> {
  await using server = await startRedis();
  await using indexer = await startEchoIndexer();
  const redis = new Redis(server.url);
  const settings = { env: { UPSTREAM_URL: indexer.url, REDIS_URL: server.url } };
  try {
    await withVictim(arena, settings, (writer) =>
      withVictim(arena, settings, async (reader) => {
        for (let firstSeqno = 0; !arena.isOver(); firstSeqno += KEYS_A_ROUND) {
          await damageAndAsk(arena, redis, writer, reader, firstSeqno);
        }
      }),
    );
  } finally {
    redis.disconnect();
  }
}

async function damageAndAsk(
  arena: Arena,
  redis: Redis,
  writer: ProxyProcess,
  reader: ProxyProcess,
  firstSeqno: number,
): Promise<void> {
  const { tally, random } = arena;
  const targets = Array.from({ length: KEYS_A_ROUND }, (_, index) => targetOf(firstSeqno + index));
  await inTurns(targets, (target) => ask(writer.url, target));
  while ((await writer.metric('toncache_redis_pending_writes')) > 0);
  const isResealed = random.chance(0.2);
  const damages = await damageAll(arena, redis, isResealed);
  tally.count(isResealed ? 'damaged and sealed again' : 'damaged', damages.length);
  const reproduction = damages.join('\n');
  await inTurns(targets, async (target) => {
    const answered = await ask(reader.url, target);
    if (answered.status === 503) {
      tally.count('refused');
      return;
    }
    const problem = isResealed ? problemOfResealed(answered) : problemOf(answered, target);
    tally.count('asked');
    if (String(answered.headers['cache-status']).includes('detail=redis')) tally.count('hits in Redis');
    if (problem !== undefined) tally.violation(problem, `${target}: ${answered.text.slice(0, 200)}\n${reproduction}`);
  });
  await redis.flushall();
}

const targetOf = (seqno: number) => `/api/v3/masterchainBlockShards?seqno=${seqno}&limit=9`;

async function inTurns(targets: readonly string[], act: (target: string) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < targets.length; at += AT_ONCE) await Promise.all(targets.slice(at, at + AT_ONCE).map(act));
}

function problemOf({ status, text, bytes, headers }: Answered, target: string): string | undefined {
  const asked = readEcho(status, text)?.target;
  if (asked === undefined) return `an answer that the indexer did not give: ${status}`;
  if (asked !== target) return 'the answer of another key';
  const tag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  return headers.etag === tag ? undefined : 'the entity tag is not that of the body';
}

/** With a correct checksum the damage is invisible. A body that cannot be decompressed is a 500. */
function problemOfResealed({ status, text }: Answered): string | undefined {
  return status === 200 || text.includes('cannot be decompressed') ? undefined : `status ${status}`;
}

/** Damages each entry in some way. Returns a description of the damage. */
async function damageAll({ random }: Arena, redis: Redis, isResealed: boolean): Promise<string[]> {
  const damages: string[] = [];
  let other: Buffer = Buffer.alloc(0);
  for (const key of await redis.keys('*')) {
    if ((await redis.type(key)) !== 'string') continue;
    const bytes = await redis.getBuffer(key);
    if (bytes === null || !bytes.subarray(0, ENTRY.length).equals(ENTRY)) continue;
    const [how, damaged] = isResealed ? resealed(bytes, random) : damagedIn(bytes, other, random);
    other = bytes;
    damages.push(`${key} of ${bytes.length} bytes: ${how}`);
    if (damaged === 'list') await redis.multi().del(key).rpush(key, 'x').exec();
    else await redis.set(key, damaged, 'KEEPTTL');
  }
  return damages;
}

function damagedIn(bytes: Buffer, other: Buffer, random: SeededRandom): [how: string, damaged: Buffer | 'list'] {
  const at = random.int(0, bytes.length - 1);
  const inMeta = random.int(0, Math.min(bytes.length - 1, AT.meta + 200));
  switch (random.pick(['bit', 'bit in meta', 'bytes', 'cut', 'longer', 'zeros', 'other', 'list', 'empty', 'none'])) {
    case 'bit':
      return [`a bit at ${at}`, flipped(bytes, [at], random)];
    case 'bit in meta':
      return [`a bit at ${inMeta}`, flipped(bytes, [inMeta], random)];
    case 'bytes': {
      const places = Array.from({ length: random.int(2, 8) }, () => random.int(0, bytes.length - 1));
      return [`bits at ${places}`, flipped(bytes, places, random)];
    }
    case 'cut':
      return [`cut at ${at}`, bytes.subarray(0, at)];
    case 'longer':
      return ['bytes of another entry behind it', Buffer.concat([bytes, other.subarray(0, 100), Buffer.from('x')])];
    case 'zeros':
      return [`zeros from ${at}`, Buffer.concat([bytes.subarray(0, at), Buffer.alloc(bytes.length - at)])];
    case 'other':
      return ['another entry', other];
    case 'list':
      return ['a list', 'list'];
    case 'empty':
      return ['empty', Buffer.alloc(0)];
    default:
      return ['nothing', bytes];
  }
}

/** Flips a bit of the JSON metadata or of the bytes after it, under a correct checksum. */
function resealed(bytes: Buffer, random: SeededRandom): [how: string, damaged: Buffer] {
  const at = random.int(AT.meta, Math.min(bytes.length - 1, AT.meta + 200));
  const damaged = flipped(bytes, [at], random);
  damaged.writeUInt32BE(crc32(damaged.subarray(AT.metaLength)), AT.checksum);
  return [`a bit at ${at}, under a right checksum`, damaged];
}

function flipped(bytes: Buffer, places: readonly number[], random: SeededRandom): Buffer {
  const copy = Buffer.from(bytes);
  for (const at of places) copy[at] = (copy[at] ?? 0) ^ (1 << random.int(0, 7));
  return copy;
}
