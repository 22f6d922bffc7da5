import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/operate/logger.ts';
import { conditionLog } from '../../../src/tell/log.ts';
import { Conditions } from '../../../src/tell/present-conditions.ts';

/** Conditions with their log, on a clock that the test moves. */
function start() {
  const world = { now: 0, log: [] as string[] };
  const logger = createLogger('info', { write: (line) => void world.log.push(JSON.parse(line).msg) });
  const indexers = [{ name: 'a', isBackup: false }];
  const conditions = new Conditions({ now: () => world.now, indexers, ...conditionLog(logger) });
  return { world, conditions };
}

const AWAY = 'serving from memory alone: Redis is away';

describe('the log of a condition', () => {
  it('has one more line for each reason that explains more, and none for one that explains less', () => {
    const { world, conditions } = start();
    for (const why of ['', 'connection closed', 'not connected', 'connect ECONNREFUSED', 'connection closed'])
      conditions.set('redis-unavailable', {}, why, { lasts: true });
    conditions.set('redis-unavailable', {}, 'NOAUTH Authentication required.', { lasts: true });
    conditions.set('redis-unavailable', {}, 'connect ECONNREFUSED', { lasts: true });
    expect(world.log).toEqual([
      `DEGRADED: ${AWAY}`,
      `DEGRADED: ${AWAY} (connection closed)`,
      `DEGRADED: ${AWAY} (connect ECONNREFUSED)`,
      `DEGRADED: ${AWAY} (NOAUTH Authentication required.)`,
    ]);
  });

  it('has the time that it lasted and the best reason at its end, not the words that were shown last', () => {
    const { world, conditions } = start();
    conditions.set('redis-unavailable', {}, 'connect ECONNREFUSED', { lasts: true });
    world.now = 90_000;
    conditions.clear('redis-unavailable');
    conditions.set('no-answer', {}, '20 % of requests get no answer: answers 500');
    world.now += 30_000;
    conditions.say('no-answer', {}, '1 % of the requests of the last 1 min got no answer, none for 30 s: answers 500');
    conditions.clear('no-answer');
    expect(conditions.active.at(0)?.says).toContain('none for 30 s');
    world.now += 60_000;
    conditions.tick();
    expect(world.log.slice(2)).toEqual([
      `over after 2 min: ${AWAY} (connect ECONNREFUSED)`,
      'over after 1.5 min: 20 % of requests get no answer: answers 500',
    ]);
  });
});
