import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import { markdownTable } from '../bench/support/report.ts';
import { exitOnSignals } from '../support/launch.ts';
import { aborts } from './aborts.ts';
import type { Attack } from './attack.ts';
import { heads } from './heads.ts';
import { pipelines } from './pipelines.ts';
import { smuggling } from './smuggling.ts';
import { Tally } from './tally.ts';
import { upstreamAnswers } from './upstream-answers.ts';

// `npm run test:hostile`: attacks toncache from outside, each attack in its own process. Everything on 127.0.0.1.

const ATTACKS: readonly Attack[] = [heads, pipelines, smuggling, upstreamAnswers, aborts];
const SECONDS = 25;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: String(SECONDS) },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    only: { type: 'string', default: '' },
  },
});
const { seed } = values;
const seconds = Number(values.seconds);
const chosen = ATTACKS.filter(({ name }) => name.includes(values.only));
if (!(seconds > 0) || chosen.length === 0) {
  console.error(`usage: npm run test:hostile -- [--seconds ${SECONDS}] [--seed 1] [--only ${ATTACKS[0]?.name}]
--seconds: how long each attack lasts; --only: the attacks whose name has this in it
  ${ATTACKS.map(({ name }) => name).join('\n  ')}`);
  process.exit(1);
}

exitOnSignals();

console.log(`seed ${seed}: ${chosen.length} attacks of ${seconds} s\n`);
const tallies: [string, Tally][] = [];
for (const attack of chosen) {
  const tally = new Tally();
  tallies.push([attack.name, tally]);
  let endsAt = Number.POSITIVE_INFINITY;
  const begin = () => {
    endsAt = performance.now() + seconds * 1000;
  };
  const random = new SeededRandom(seed, attack.name);
  try {
    await attack.run({ random, tally, seconds, begin, isOver: () => performance.now() >= endsAt });
  } catch (error) {
    tally.violation('the attack failed', error instanceof Error ? `${error.stack}` : `${error}`);
  }
  console.log(`${attack.name}: ${tally.summary}; ${tally.violations} violations`);
  if (tally.violations > 0) console.log(`\n${tally.report}\n`);
}

const rows = tallies.map(([name, tally]) => [name, tally.summary, String(tally.violations)]);
console.log(`\n${markdownTable(['attack', 'counts', 'violations'], rows)}\n\nseed ${seed}`);
if (tallies.some(([, { violations }]) => violations > 0)) process.exitCode = 1;
