import { afterEach, describe, expect, it } from 'vitest';
import { StatusHistory } from '../../../../src/operate/status/history.ts';
import { sample } from './read-sample.ts';

let history: StatusHistory | undefined;
afterEach(() => history?.close());

/** A status history with a clock that the test sets; it looks at the metrics each second, after the given events. */
function historyOf() {
  const world = { now: 0, failed: 0, limited: 0, answered: 0, sent: 0, silent: 0, redis: 1, open: 0 };
  const said: string[] = [];
  const samples = async () =>
    [
      `requests_total outcome=failed ${world.failed}`,
      `requests_total outcome=hit-memory ${world.answered}`,
      `request_failures_total code=${world.open ? 'overloaded' : 'upstream-timeout'} ${world.failed}`,
      `loads_shed_total reason=breaker-open ${world.failed}`,
      `requests_refused_total code=too-many-requests ${world.limited}`,
      `circuit_breaker_open upstream=a operation=blocks ${world.open}`,
      `upstream_requests_total upstream=a result=upstream-timeout ${world.failed}`,
      `upstream_requests_total result=200 ${world.sent}`,
      `upstream_unresponsive upstream=a ${world.silent}`,
      `redis_available ${world.redis}`,
    ].map(sample);
  const looked = new StatusHistory({
    samples,
    now: () => world.now,
    monotonic: () => world.now,
    onBug: (bug) => expect(bug).toBeUndefined(),
    failures: { of: () => undefined, ofRedis: undefined, limited: [] },
    onVerdict: ({ summary: says }) => void said.push(says),
  });
  history = looked;
  const pass = async (seconds: number, each: Partial<Record<'failed' | 'limited' | 'answered' | 'sent', number>>) => {
    for (let second = 0; second < seconds; second++) {
      world.now += 1000;
      world.failed += each.failed ?? 0;
      world.limited += each.limited ?? 0;
      world.answered += each.answered ?? 0;
      world.sent += each.sent ?? 0;
      await looked.moments();
    }
    return (await looked.moments()).at(-1);
  };
  return { world, pass, said };
}

describe('the reported verdict', () => {
  it('becomes worse immediately, and better only a minute after the last failure', async () => {
    const { pass, said } = historyOf();
    await pass(12, { answered: 10 });
    expect((await pass(2, { failed: 5 }))?.verdict).toMatchObject({ level: 'refusing', since: 13_000 });
    // Failures that come and go within a minute count as one cause.
    for (let time = 0; time < 5; time++) {
      await pass(15, { answered: 10 });
      await pass(2, { failed: 5 });
    }
    expect(said).toEqual(['refusing 5 %']);
    expect((await pass(12, { answered: 10 }))?.verdict).toMatchObject({
      level: 'refusing',
      summary: '5 % failed in the last minute, none for 12 s',
      since: 13_000,
    });
    expect((await pass(46, { answered: 10 }))?.verdict).toMatchObject({ level: 'refusing', since: 13_000 });
    expect((await pass(4, { answered: 10 }))?.verdict).toMatchObject({ level: 'serving' });
    expect(said).toEqual(['refusing 5 %', 'serving']);
    // A gap of up to a minute does not count: the level has the same `since` as before.
    expect((await pass(2, { failed: 5 }))?.verdict).toMatchObject({ level: 'refusing', since: 13_000 });
    await pass(140, { answered: 10 });
    expect((await pass(2, { failed: 5 }))?.verdict).toMatchObject({ level: 'refusing', since: 304_000 });
  });

  it('reports failures that only the last minute shows, and ignores one failure every 51 s', async () => {
    const { pass } = historyOf();
    await pass(12, { answered: 8 });
    // 2 % of 8 requests a second: no window of 10 s has more than two failures.
    for (let time = 0; time < 10; time++) {
      await pass(5, { answered: 8 });
      await pass(1, { answered: 7, failed: 1 });
    }
    await pass(3, { answered: 8 });
    expect((await pass(1, { answered: 8 }))?.verdict).toMatchObject({
      summary: '2 % failed in the last minute, none for 4 s',
      cause: 'the indexer does not answer in time',
    });
    const { pass: passNight } = historyOf();
    for (let time = 0; time < 5; time++) {
      await passNight(50, {});
      expect((await passNight(1, { answered: 7, failed: 1 }))?.verdict.summary).toBe('serving');
    }
  });

  it('reports the share refused in the last minute after clients are within their limits again', async () => {
    const { pass } = historyOf();
    await pass(12, { answered: 10 });
    expect((await pass(6, { answered: 5, limited: 30 }))?.verdict.summary).toBe('refusing 72 %');
    expect((await pass(45, { answered: 20 }))?.verdict).toMatchObject({
      level: 'refusing',
      summary: '15 % refused in the last minute, none for 45 s',
    });
  });

  it('no longer reports a circuit breaker after it has closed', async () => {
    const { world, pass } = historyOf();
    await pass(12, { answered: 10 });
    world.open = 1;
    const open = await pass(6, { failed: 10 });
    expect(open?.verdict.cause).toBe('the indexer does not answer in time; its circuit breaker is open');
    world.open = 0;
    const closed = await pass(20, { answered: 10 });
    expect(closed?.verdict).toMatchObject({ level: 'refusing', cause: 'the indexer does not answer in time' });
  });

  it('keeps the first of two amber causes until the other one has been the worse for 10 s', async () => {
    const { world, pass } = historyOf();
    const says = async (seconds: number) => (await pass(seconds, { answered: 10 }))?.verdict.summary;
    await pass(12, { answered: 10 });
    world.silent = 1;
    expect(await says(1)).toBe('all are answered');
    for (let time = 0; time < 5; time++) {
      world.redis = 0;
      expect(await says(9)).toBe('all are answered');
      world.redis = 1;
      expect(await says(1)).toBe('all are answered');
    }
    world.redis = 0;
    expect(await says(9)).toBe('all are answered');
    expect((await pass(1, { answered: 10 }))?.verdict).toMatchObject({
      level: 'degraded',
      summary: 'serving from memory alone',
      since: 13_000,
    });
    // The level is kept for 10 s after its last cause, whichever that was.
    [world.redis, world.silent] = [1, 0];
    expect(await says(9)).toBe('serving from memory alone');
    expect(await says(1)).toBe('serving');
  });
});

it('the status history counts savings over at most an hour', async () => {
  const { pass } = historyOf();
  expect((await pass(1, {}))?.hour).toEqual({ seconds: 0, requests: 0, saved: 0, olderAnswers: 0 });
  expect((await pass(100, { answered: 10, sent: 3 }))?.hour).toEqual({
    seconds: 100,
    requests: 1000,
    saved: 700,
    olderAnswers: 0,
  });
  const { seconds = 0, requests } = (await pass(4000, { answered: 1 }))?.hour ?? {};
  expect(seconds).toBeLessThanOrEqual(3600);
  expect(seconds).toBeGreaterThan(3500);
  expect(requests).toBe(seconds);
});
