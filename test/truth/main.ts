import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { markdownTable } from '../bench/support/report.ts';
import { exitOnSignals } from '../support/launch.ts';
import type { Fault } from './fault.ts';
import { FAULTS, faultNamed } from './faults.ts';
import { runChecker } from './run-checker.ts';
import { Tally } from './tally.ts';
import type { WorldOptions } from './world.ts';

// `npm run truth`: clients send requests to toncache while the simulated chain grows. Every answer is compared with
// every state that the indexer had. Everything on 127.0.0.1. Exits with 1 for a lie, a regression, a needless refusal
// or a needless wait.

const SECONDS = 20;
const USAGE = `usage: npm run truth -- [--minutes 10] [--faults all] [--seed 1] [--instances 2] [--dialect 1.3] [--memory-alone] [--polls-only] [--quiet]
--minutes: how long clients ask; without it ${SECONDS} s
--faults: none (the default), all, or some of these, separated by commas, or two at once with a + between them: ${FAULTS.map(({ name }) => name).join(', ')}
--dialect: the version of the indexer that is simulated, 1.2 or 1.3
--memory-alone: without Redis, and therefore without faults of Redis
--polls-only: only clients that poll an account or an owner: most of their answers are proven
--quiet: a chain on which half of the blocks have no jetton wallet, and without traces`;

const { forMs, faults, redis, ...options } = readOptions();
const startedAt = performance.now();
const report = (line: string) => console.log(`${((performance.now() - startedAt) / 1000).toFixed(1)} s  ${line}`);
const tally = new Tally(({ text }) => report(text));

exitOnSignals();

const names = faults.map(({ name }) => name).join(', ') || 'none';
console.log(`seed ${options.seed}, ${options.instances} instances, ${forMs / 1000} s, faults: ${names}\n`);
for (const leg of legs()) {
  await runChecker({ ...options, root: new URL('../../', import.meta.url), ...leg, tally, report });
}
console.log(`\n${markdownTable(['', 'count'], tally.rows)}\n\nseed ${options.seed}`);
process.exit(tally.findings.length > 0 || tally.of('answers') === 0 ? 1 : 0);

/** One run for each Redis and each number of indexers that the faults need. The runs share the time. */
function legs(): readonly (Pick<WorldOptions, 'redis' | 'forMs' | 'twoIndexers'> & {
  readonly faults: readonly Fault[];
})[] {
  if (faults.length === 0) return [{ redis, forMs, twoIndexers: false, faults }];
  return [true, false].flatMap((twoIndexers) => {
    const ofThese = faults.filter((fault) => (fault.twoIndexers ?? false) === twoIndexers);
    const byRedis = Map.groupBy(ofThese, (fault) => (redis === 'none' ? redis : (fault.redis ?? redis)));
    return [...byRedis].map(([kind, some]) => {
      const share = some.length / faults.length;
      return { redis: kind, forMs: forMs * share, twoIndexers, faults: some };
    });
  });
}

function readValues() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: String(SECONDS / 60) },
        faults: { type: 'string', default: 'none' },
        seed: { type: 'string', default: String(randomInt(2 ** 31)) },
        instances: { type: 'string', default: '2' },
        dialect: { type: 'string', default: '1.3' },
        'memory-alone': { type: 'boolean', default: false },
        'polls-only': { type: 'boolean', default: false },
        quiet: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function readOptions() {
  const values = readValues();
  const { dialect, faults: asked, 'memory-alone': memoryAlone, 'polls-only': pollsOnly, quiet } = values;
  const [minutes, seed, instances] = [values.minutes, values.seed, values.instances].map(Number);
  const wanted = asked === 'none' ? [] : asked === 'all' ? FAULTS.map(({ name }) => name) : asked.split(',');
  const chosen = wanted.flatMap((name) => faultNamed(name) ?? refuse(`--faults ${name} is not known`));
  if (minutes === undefined || !(minutes > 0)) return refuse('--minutes is not a positive number');
  if (seed === undefined || !Number.isSafeInteger(seed)) return refuse('--seed is not a whole number');
  if (instances === undefined || !(Number.isInteger(instances) && instances >= 1))
    return refuse('--instances is not 1 or more');
  if (dialect !== '1.2' && dialect !== '1.3') return refuse(`--dialect ${dialect} is not known`);
  if (memoryAlone && chosen.some(({ name }) => name.includes('redis')))
    return refuse('--memory-alone has no Redis to fail');
  const killed = chosen.some(({ name }) => name.includes('instance-killed'));
  if (killed && instances < 2)
    return refuse('instance-killed needs --instances 2 or more: somebody must be left to ask');
  const redis: WorldOptions['redis'] = memoryAlone ? 'none' : 'single';
  return { forMs: minutes * 60_000, faults: chosen, seed, instances, dialect, redis, pollsOnly, quiet } as const;
}

function refuse(problem: string): never {
  console.error(`${problem}\n\n${USAGE}`);
  process.exit(64);
}
