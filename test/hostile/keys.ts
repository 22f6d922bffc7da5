import fc from 'fast-check';
import { ask } from '../support/http-client.ts';
import { startRedis } from '../support/redis-server.ts';
import { identityOf, type Meaning, meanings } from '../unit/ton/meaning.ts';
import { sentMeaning } from '../unit/ton/sent-meaning.ts';
import { spell } from '../unit/ton/spell.ts';
import { type Arena, type Attack, attackUntilOver } from './attack.ts';
import { readEcho, startEchoIndexer } from './echo-indexer.ts';
import { withVictim } from './victim.ts';

const WORKERS = 48;
const BATCH = 500;

/**
 * Sends random calls in random spellings, all of them similar, and reads from each answer which request the indexer
 * got: it must mean the same. The cache holds few entries, so that Redis is read too.
 */
export const keys: Attack = { name: 'keys against a model', run };

async function run(arena: Arena): Promise<void> {
  await using redis = await startRedis();
  await using indexer = await startEchoIndexer();
  indexer.latencyMs = () => (arena.random.chance(0.1) ? arena.random.int(1, 20) : 0);
  const env = { UPSTREAM_URL: indexer.url, REDIS_URL: redis.url, MEMORY_MAX_SIZE: '1MiB', CACHE_OPERATIONS: 'all' };
  await withVictim(arena, { env }, async ({ url }) => {
    const questions = endless(arena);
    await attackUntilOver(arena, WORKERS, () => askAndCompare(arena, url, questions));
  });
  for (const reason of indexer.malformed) arena.tally.violation('the indexer got a malformed request', reason);
}

interface Question {
  readonly meaning: Meaning;
  readonly gen: fc.GeneratorValue;
}

/** `masterchainInfo` has a single key, and the indexer answers it with a head instead of an echo. */
const echoed = meanings.filter(({ operation }) => operation !== 'masterchainInfo');

function* endless({ random }: Arena): Generator<Question, never> {
  for (;;) {
    const seed = random.int(0, 2 ** 31 - 1);
    yield* fc.sample(fc.record({ meaning: echoed, gen: fc.gen() }), { seed, numRuns: BATCH });
  }
}

async function askAndCompare({ tally }: Arena, url: string, questions: Generator<Question, never>): Promise<void> {
  const { meaning, gen } = questions.next().value;
  const { rawQuery, headers } = spell(meaning, gen);
  // A request line cannot contain a space.
  const target = `/api/v3/${meaning.operation}?${rawQuery.replaceAll(' ', '%20')}`;
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const reproduction = (more: string) => `${target}\n${JSON.stringify(headers)}\n${more}`;
  const answered = await ask(url, target, { headers: Object.fromEntries(sent) });
  tally.count('requests');
  if (answered.status === 503 || answered.status === 504) {
    tally.count('refused');
    return;
  }
  if (String(answered.headers['cache-status']).includes('hit')) tally.count('hits');
  const echo = readEcho(answered.status, answered.text);
  if (echo === undefined) {
    tally.violation('an answer that the indexer did not give', reproduction(`${answered.status} ${answered.text}`));
  } else if (identityOf(sentMeaning(echo.target, echo.headers)) !== identityOf(meaning)) {
    tally.violation('the answer of another key', reproduction(echo.target));
  }
}
