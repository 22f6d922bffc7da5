import fc from 'fast-check';
import { ask } from '../support/http-client.ts';
import { startRedis } from '../support/redis-server.ts';
import { identityOf, type Meaning, meanings } from '../unit/ton/meaning.ts';
import { spell } from '../unit/ton/spell.ts';
import { type Arena, type Attack, attackUntilOver } from './attack.ts';
import { type Echo, readEcho, startEchoIndexer } from './echo-indexer.ts';
import { withVictim } from './victim.ts';

const WORKERS = 48;
const BATCH = 500;

/**
 * Asks for random meanings in random spellings, all of them close to each other, and reads out of each answer what the
 * indexer was asked for: it must mean the same. The cache holds few entries, so that Redis is asked too.
 */
export const keys: Attack = { name: 'keys against a model', run };

async function run(arena: Arena): Promise<void> {
  await using redis = await startRedis();
  await using indexer = await startEchoIndexer();
  indexer.latencyMs = () => (arena.random.chance(0.1) ? arena.random.int(1, 20) : 0);
  const env = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, MEMORY_MAX_SIZE: '1MiB' };
  await withVictim(arena, { env }, async ({ url }) => {
    const questions = endless(arena);
    await attackUntilOver(arena, WORKERS, () => askAndCompare(arena, url, questions));
  });
  for (const reason of indexer.malformed) arena.tally.violation('the indexer got what is no request', reason);
}

interface Question {
  readonly meaning: Meaning;
  readonly gen: fc.GeneratorValue;
}

function* endless({ random }: Arena): Generator<Question, never> {
  for (;;) {
    const seed = random.int(0, 2 ** 31 - 1);
    yield* fc.sample(fc.record({ meaning: meanings, gen: fc.gen() }), { seed, numRuns: BATCH });
  }
}

async function askAndCompare({ tally }: Arena, url: string, questions: Generator<Question, never>): Promise<void> {
  const { meaning, gen } = questions.next().value;
  const { rawQuery, headers } = spell(meaning, gen);
  // A request line cannot hold a space.
  const target = `/api/v3/${meaning.operation}?${rawQuery.replaceAll(' ', '%20')}`;
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const reproduction = (more: string) => `${target}\n${JSON.stringify(headers)}\n${more}`;
  const answered = await ask(url, target, { headers: Object.fromEntries(sent) });
  tally.count('requests');
  if (answered.status === 503 || answered.status === 504) {
    tally.count('shed');
    return;
  }
  if (String(answered.headers['cache-status']).includes('hit')) tally.count('hits');
  const echo = readEcho(answered.status, answered.text);
  if (echo === undefined) {
    tally.violation('an answer that the indexer did not give', reproduction(`${answered.status} ${answered.text}`));
  } else if (identityOf(meaningOf(echo)) !== identityOf(meaning)) {
    tally.violation('the answer of another key', reproduction(echo.target));
  }
}

/** What the indexer takes a request to mean: the canonical form as it is, decoded as forms are. */
function meaningOf({ target, headers }: Echo): Meaning {
  const { pathname, searchParams: query } = new URL(target, 'http://x');
  const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
  const noAddressBook = headers['x-no-address-book'] === 'true';
  switch (pathname) {
    case '/api/v3/pendingTraces': {
      const hashes = query.getAll('ext_msg_hash');
      const version = headers['x-actions-version'];
      return {
        operation: 'pendingTraces',
        accounts: query.getAll('account').map((account) => {
          const [workchain, hash = ''] = account.split(':');
          return { workchain: Number(workchain), hash: Buffer.from(hash, 'hex') };
        }),
        extMsgHashes: hashes.filter((hash) => hash !== '').map((hash) => Buffer.from(hash, 'base64')),
        emptyHash: hashes.includes(''),
        actions: version === undefined ? query.getAll('supported_action_types') : [version],
        noAddressBook,
        noMetadata: headers['x-no-metadata'] === 'true',
      };
    }
    case '/api/v3/adjacentTransactions': {
      const hash = Buffer.from(query.get('hash') ?? '', 'base64');
      const direction = query.get('direction') as 'in' | 'out' | null;
      return { operation: 'adjacentTransactions', hash, direction: direction ?? undefined, noAddressBook };
    }
    default: {
      const sort = query.get('sort') as 'asc' | 'desc' | null;
      return {
        operation: 'masterchainBlockShards',
        seqno: number('seqno') ?? Number.NaN,
        limit: number('limit'),
        offset: number('offset'),
        sort: sort ?? undefined,
      };
    }
  }
}
