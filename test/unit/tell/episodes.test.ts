import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/operate/logger.ts';
import { CONDITIONS, type ConditionName } from '../../../src/tell/conditions.ts';
import { causeOf, firstLine } from '../../../src/tell/episode-words.ts';
import { Episodes } from '../../../src/tell/episodes.ts';
import { episodeLog } from '../../../src/tell/log.ts';
import { Conditions } from '../../../src/tell/present-conditions.ts';
import { CONDITION_REASONS } from '../../docs/condition-reasons.ts';

const LASTS = { lasts: true };
const REFUSED = 'connect ECONNREFUSED 10.0.0.7:8081';

/** Conditions, their episodes and their log, on a clock that the test moves. */
class World {
  now = 6_000_000;
  readonly log: { msg: string; [field: string]: unknown }[] = [];
  readonly conditions: Conditions;
  readonly episodes: Episodes;
  readonly #all: number;

  constructor(names: readonly string[] = ['a:1', 'b:1']) {
    const now = () => this.now;
    this.#all = names.length;
    this.conditions = new Conditions(
      now,
      names.map((name) => ({ name, isBackup: name === 'backup' })),
    );
    const logger = createLogger('info', { write: (line) => void this.log.push(JSON.parse(line)) });
    this.episodes = new Episodes({ now, ...episodeLog(logger, names.length) });
  }

  pass(seconds: number, hasRequests = true): void {
    for (let second = 0; second < seconds; second++) {
      this.now += 1000;
      this.conditions.tick();
      this.episodes.turn(this.conditions.active, hasRequests);
    }
  }

  get line(): string {
    return firstLine(
      this.episodes.all.find(({ isOver }) => !isOver),
      this.#all,
      this.now,
    );
  }

  /** `failing 3-9: the indexer was unreachable`, with seconds since the beginning of the world. */
  get happened(): readonly string[] {
    const at = (instant: number | undefined) => (instant === undefined ? '' : Math.round((instant - 6_000_000) / 1000));
    return this.episodes.all.map(
      (each) => `${each.level} ${at(each.since)}-${at(each.until)}: ${causeOf(each, this.#all)}`,
    );
  }

  get messages(): readonly string[] {
    return this.log.map(({ msg }) => msg);
  }
}

/** Both indexers are gone, with the circuit breakers of eight operations, while half of the requests fail. */
function outage({ conditions }: World): void {
  for (const upstream of ['a:1', 'b:1']) {
    conditions.set('not-reached', { upstream }, REFUSED, LASTS);
    for (let each = 0; each < 8; each++)
      conditions.set('breaker-open', { upstream, operation: `operation${each}` }, 'is unreachable', LASTS);
  }
  const effect = '50 % of requests fail';
  conditions.set('no-answer', {}, 'a:1 is unreachable, b:1 is unreachable', { because: 'not-reached', effect });
}

function repair({ conditions }: World): void {
  for (const { name, upstream, operation } of conditions.active) conditions.clear(name, { upstream, operation });
}

describe('an episode', () => {
  it('is one outage with all its conditions: one line, one cause, and two lines of the log', () => {
    const world = new World();
    outage(world);
    world.pass(16);
    expect(world.line).toBe('FAILING for 16 s: 50 % of requests fail. Both indexers are unreachable (ECONNREFUSED).');
    repair(world);
    world.pass(70);
    expect(world.line).toBe('OK: serving as usual');
    expect(world.happened).toEqual(['failing 0-16: both indexers were unreachable (ECONNREFUSED)']);
    expect(world.log).toEqual([
      expect.objectContaining({
        level: 'error',
        msg: 'FAILING: 50 % of requests fail. Both indexers are unreachable (ECONNREFUSED).',
        condition: 'not-reached',
        upstream: 'a:1, b:1',
        reason: REFUSED,
        operations: 8,
        runbook: 'docs/incidents.md#the-indexer-fails',
      }),
      expect.objectContaining({
        level: 'info',
        msg: 'over after 16 s: both indexers were unreachable (ECONNREFUSED)',
        operations: 8,
      }),
    ]);
  });

  it('that comes and goes is one, and ends when it stopped being true', () => {
    const world = new World();
    for (let time = 0; time < 3; time++) {
      outage(world);
      world.pass(10);
      repair(world);
      world.pass(10);
    }
    world.pass(100);
    expect(world.happened).toEqual(['failing 0-50: both indexers were unreachable (ECONNREFUSED)']);
    expect(world.log).toHaveLength(2);
  });

  it('has the cause that is true now, not the one that it replaced', () => {
    const world = new World();
    outage(world);
    world.pass(5);
    for (const upstream of ['a:1', 'b:1']) {
      world.conditions.clear('not-reached', { upstream });
      world.conditions.set('indexer-fails', { upstream }, 'does not answer in time', LASTS);
    }
    world.pass(5);
    expect(world.line).toBe('FAILING for 10 s: 50 % of requests fail. Both indexers do not answer in time.');
    expect(world.happened).toHaveLength(1);
    expect(world.log).toHaveLength(1);
  });

  it('of each of two indexers is its own if their causes differ, and one if they are the same', () => {
    const world = new World();
    world.conditions.set('paused', { upstream: 'b:1' }, '429: Ratelimit exceed; asks for 1 s', LASTS);
    world.pass(100);
    world.conditions.set('not-reached', { upstream: 'a:1' }, REFUSED, LASTS);
    world.pass(1);
    expect(world.happened).toEqual([
      'degraded 0-: b:1 is rate limited (429: Ratelimit exceed, retry in 1 s)',
      'degraded 100-: a:1 is unreachable (ECONNREFUSED)',
    ]);
    const same = new World();
    same.conditions.set('not-reached', { upstream: 'a:1' }, REFUSED, LASTS);
    same.pass(5);
    same.conditions.set('not-reached', { upstream: 'b:1' }, REFUSED, LASTS);
    same.pass(5);
    expect(same.happened).toEqual(['degraded 0-: both indexers are unreachable (ECONNREFUSED)']);
  });

  it('of one that fails, when another one hangs, stays the cause of the failures', () => {
    const world = new World(['a:1', 'b:1', 'c:1']);
    outage(world);
    world.conditions.set('indexer-fails', { upstream: 'c:1' }, 'does not answer in time', LASTS);
    world.pass(16);
    expect(world.line).toBe('FAILING for 16 s: 50 % of requests fail. a:1 and b:1 are unreachable (ECONNREFUSED).');
    expect(world.happened[1]).toBe('degraded 0-: c:1 does not answer in time');
  });

  it('names only the indexers of which its cause is true', () => {
    const world = new World();
    world.conditions.set('indexer-fails', { upstream: 'a:1' }, `is unreachable (${REFUSED})`, LASTS);
    world.conditions.set('indexer-fails', { upstream: 'b:1' }, 'does not answer in time', LASTS);
    world.conditions.set('no-answer', {}, 'x', { because: 'indexer-fails', effect: '70 % of requests fail' });
    world.pass(10);
    expect(world.line).toBe('FAILING for 10 s: 70 % of requests fail. a:1 is unreachable (ECONNREFUSED).');
    expect(world.happened[1]).toBe('degraded 0-: b:1 does not answer in time');
  });

  it('names all of them once it is over, in whatever order they recovered', () => {
    const world = new World();
    for (const upstream of ['a:1', 'b:1']) world.conditions.set('not-reached', { upstream }, REFUSED, LASTS);
    world.pass(10);
    world.conditions.clear('not-reached', { upstream: 'b:1' });
    world.pass(1);
    expect(world.happened).toEqual(['degraded 0-: a:1 is unreachable (ECONNREFUSED)']);
    world.conditions.clear('not-reached', { upstream: 'a:1' });
    world.pass(16);
    expect(world.happened).toEqual(['degraded 0-11: both indexers were unreachable (ECONNREFUSED)']);
  });

  it('names only the indexers of its last cause once it is over', () => {
    const world = new World();
    for (const upstream of ['a:1', 'b:1']) world.conditions.set('not-reached', { upstream }, REFUSED, LASTS);
    world.pass(5);
    world.conditions.set('indexer-fails', { upstream: 'b:1' }, 'answers 502', LASTS);
    for (const upstream of ['a:1', 'b:1']) world.conditions.clear('not-reached', { upstream });
    world.pass(5);
    world.conditions.clear('indexer-fails', { upstream: 'b:1' });
    world.pass(60);
    expect(world.happened).toEqual(['degraded 0-10: b:1 answered 502']);
  });

  it('that began as two is one when their indexers have the same cause', () => {
    const world = new World();
    world.conditions.set('not-reached', { upstream: 'a:1' }, REFUSED, LASTS);
    world.conditions.set('indexer-error', { upstream: 'b:1', operation: 'x' }, 'answers 502');
    world.pass(2);
    world.conditions.set('indexer-fails', { upstream: 'b:1' }, `is unreachable (${REFUSED})`, LASTS);
    world.pass(5);
    expect(world.happened).toEqual(['degraded 0-: both indexers are unreachable (ECONNREFUSED)']);
    expect(world.messages.filter((message) => message.startsWith('over'))).toEqual([]);
  });

  it('begins anew when it becomes worse after more than 15 s, and again when it becomes better', () => {
    const world = new World();
    world.conditions.set('not-reached', { upstream: 'a:1' }, REFUSED, LASTS);
    world.pass(100);
    world.conditions.set('no-answer', {}, 'x', { because: 'not-reached', effect: '20 % of requests fail' });
    world.pass(30);
    expect(world.line).toBe('FAILING for 30 s: 20 % of requests fail. a:1 is unreachable (ECONNREFUSED).');
    world.conditions.clear('no-answer');
    world.pass(61);
    expect(world.line).toBe('DEGRADED for 1 min: a:1 is unreachable (ECONNREFUSED).');
    expect(world.happened.map((each) => each.split(':')[0])).toEqual([
      'degraded 130-',
      'failing 100-130',
      'degraded 0-100',
    ]);
    expect(world.messages.map((message) => message.split(':')[0])).toEqual([
      ...['DEGRADED', 'over after 1.7 min', 'FAILING', 'over after 30 s', 'DEGRADED'],
    ]);
  });

  it('that proves to be worse within 15 s was so from the beginning', () => {
    const world = new World();
    world.conditions.set('not-reached', { upstream: 'a:1' }, REFUSED, LASTS);
    world.pass(10);
    outage(world);
    world.pass(1);
    expect(world.line).toMatch(/^FAILING for 11 s: /);
    expect(world.happened).toHaveLength(1);
    expect(world.messages.map((message) => message.split(':')[0])).toEqual(['DEGRADED', 'FAILING']);
  });

  it('of a level that is true of all began with the last of them', () => {
    const world = new World();
    world.conditions.set('head-still', { upstream: 'a:1' }, '5 min', LASTS);
    world.pass(300);
    world.conditions.set('head-still', { upstream: 'b:1' }, '2 min', LASTS);
    world.pass(10);
    expect(world.line).toBe(
      'FAILING for 10 s: responses are outdated. The newest block of both indexers has been the same for 2 min.',
    );
  });

  it('of two faults is two: the worst is the first line, and the other one happened too', () => {
    const world = new World();
    world.conditions.set('redis-unavailable', {}, 'connect ECONNREFUSED 10.0.0.9:6379', LASTS);
    world.pass(60);
    outage(world);
    world.pass(5);
    expect(world.line).toMatch(/^FAILING for 5 s: .*Both indexers/);
    expect(world.happened[1]).toBe('degraded 0-: Redis is unreachable (ECONNREFUSED)');
  });

  it('that is not true any more is not the first line while another one is', () => {
    const world = new World();
    world.conditions.set('redis-unavailable', {}, 'no response', LASTS);
    world.pass(60);
    world.conditions.set('slow', {}, 'the indexer takes over 2 s', { ...LASTS, effect: 'responses are slow' });
    world.conditions.clear('redis-unavailable');
    world.pass(5);
    expect(world.line).toBe('DEGRADED for 5 s: responses are slow. The indexers take over 2 s.');
    expect(world.happened[1]).toBe('degraded 0-60: Redis was unreachable (no response)');
  });

  it('of slow responses has the head polls that both indexers do not answer in time', () => {
    const world = new World();
    world.conditions.set('slow', {}, 'the indexer takes over 2 s', { ...LASTS, effect: 'responses are slow' });
    world.pass(5);
    for (const upstream of ['a:1', 'b:1']) world.conditions.set('silent', { upstream }, '', LASTS);
    world.pass(5);
    expect(world.happened).toEqual(['degraded 0-: the indexers take over 2 s']);
    world.conditions.clear('slow');
    world.pass(16);
    expect(world.line).toBe('DEGRADED for 26 s: both indexers do not answer head polls, so their lag is unknown.');
    expect(world.happened).toHaveLength(1);
  });

  it('does not begin with a note: the log has one line for it, and none while its fault is told', () => {
    const world = new World();
    world.conditions.set('client-limited', {}, '10.0.7.0/24 exceeds its limit', LASTS);
    world.pass(1);
    expect([world.line, world.happened]).toEqual(['OK: serving as usual', []]);
    expect(world.messages).toEqual(['NOTE: 10.0.7.0/24 exceeds its limit; all others are answered.']);
    expect(world.episodes.notes).toHaveLength(1);
    outage(world);
    world.pass(1);
    world.conditions.set('indexer-error', { upstream: 'a:1', operation: 'x' }, 'answers 500', LASTS);
    world.conditions.clear('client-limited');
    world.pass(16);
    expect(world.messages).toHaveLength(2);
    expect(world.episodes.notes).toEqual([]);
  });

  it('is one of the last ten, in little memory', () => {
    const world = new World();
    for (let time = 0; time < 30; time++) {
      world.conditions.set('redis-unavailable', {}, 'x'.repeat(160), LASTS);
      world.pass(5);
      world.conditions.clear('redis-unavailable');
      world.pass(20);
    }
    expect(world.happened).toHaveLength(10);
    expect(world.happened[0]).toMatch(/^degraded 725-730: /);
    expect(JSON.stringify(world.episodes.all).length).toBeLessThan(64 * 1024);
  });
});

describe('the strip', () => {
  it('has the worst level of each of the last 60 minutes, and no level in one without requests', () => {
    const world = new World();
    world.now -= 1000;
    world.pass(60);
    world.pass(60, false);
    outage(world);
    world.pass(1);
    repair(world);
    world.pass(300);
    const { since, levels } = world.episodes.minutes;
    expect(since % 60_000).toBe(0);
    expect(levels).toHaveLength(60);
    expect(levels.slice(-8)).toEqual([0, undefined, 2, 0, 0, 0, 0, 0]);
    expect(levels.slice(0, -8)).toEqual(Array(52).fill(undefined));
    world.pass(3600);
    expect(world.episodes.minutes.levels).toEqual(Array(60).fill(0));
  });
});

describe('the words of an episode', () => {
  const one = (name: ConditionName, why: string, indexers: readonly string[], effect = '') =>
    ({
      ...{
        level: 'failing' as const,
        since: 0,
        until: undefined,
        isOver: false,
        isTrue: true,
        effect,
        indexers,
        operations: 1,
      },
      cause: { name, why, section: '', operation: 'pendingTraces' },
    }) as const;

  it.each(Object.keys(CONDITIONS) as ConditionName[])('are at most 20 with the level and the age: %s', (name) => {
    const { effect = '' } = CONDITIONS[name] as { effect?: string };
    const shown = effect.replace('{who}', 'backup:8081');
    const why = CONDITION_REASONS[name] ?? REFUSED;
    const line = firstLine(one(name, why, ['a:8081', 'b:8081'], shown), 2, 180_000);
    expect(line.split(' ').length, line).toBeLessThanOrEqual(20);
    expect(line).not.toMatch(/[{}…]/);
    expect(line).toMatch(/^FAILING for 3 min: .*\.$/);
  });

  it.each(Object.keys(CONDITIONS) as ConditionName[])('agree in number with one indexer and with two: %s', (name) => {
    const why = CONDITION_REASONS[name] ?? '';
    const isOfIndexers = 'short' in CONDITIONS[name] ? CONDITIONS[name].short : CONDITIONS[name].says;
    const names = isOfIndexers.includes('{who}') ? ['a:8081', 'b:8081'] : [];
    const [ofOne, ofTwo] = [causeOf(one(name, why, names.slice(0, 1)), 1), causeOf(one(name, why, names), 2)];
    expect(ofOne).not.toMatch(/\b(both|the) indexers|their/);
    expect(ofTwo).not.toMatch(/the indexer\b/);
    if (/^(both|the) indexers/.test(ofTwo)) expect(ofTwo).not.toMatch(/\bits\b|^\w+ indexers [a-z]*s\b/);
  });

  it('keep the share of failed requests when the other side has many words', () => {
    const why = '429: Ratelimit exceed; asks for 12 h';
    expect(firstLine(one('paused', why, ['a:1'], '75 % of requests fail'), 1, 24_000)).toBe(
      'FAILING for 24 s: 75 % fail. The indexer is rate limited (429: Ratelimit exceed, retry in 12 h).',
    );
  });

  it.each([
    ['429: {"ok":false,"result":"x","code":429}; asks for 1 s', 'the indexer is rate limited (429, retry in 1 s)'],
    ['429: Ratelimit exceed; asks for 1 s', 'the indexer is rate limited (429: Ratelimit exceed, retry in 1 s)'],
    ['429', 'the indexer is rate limited (429)'],
    ['', 'the indexer is rate limited'],
    [`429: ${'w'.repeat(90)}`, `the indexer is rate limited (429: ${'w'.repeat(39)}…)`],
    ['429: <html><b>Slow</b> down</html>', 'the indexer is rate limited (429: Slow  down)'],
  ])('have no JSON, and few words of the other side: %s', (why, words) => {
    expect(causeOf(one('paused', why, ['a:1']), 1)).toBe(words);
  });

  it.each([
    [['a:1', 'b:1'], 2, 'both indexers'],
    [['a:1', 'b:1', 'c:1'], 3, 'all 3 indexers'],
    [['a:1', 'b:1', 'c:1'], 4, '3 of 4 indexers'],
    [['a:1', 'b:1'], 3, 'a:1 and b:1'],
  ])('name %j of %i as %s', (indexers, all, words) => {
    expect(causeOf(one('not-reached', '', indexers), all)).toBe(`${words} are unreachable`);
    expect(causeOf({ ...one('not-reached', '', indexers), isTrue: false }, all)).toBe(`${words} were unreachable`);
  });
});
