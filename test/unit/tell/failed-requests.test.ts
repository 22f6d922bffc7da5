import { describe, expect, it } from 'vitest';
import { failure } from '../../../src/errors.ts';
import { TellingWorld, TIMEOUT } from './telling-world.ts';

const OK = 'OK: serving as usual';
const ONE_KEY = { key: 'k' };
const ONE_CLIENT = { client: 'c' };

/** What happens in each second, and the first line after five of them. */
type Case = [name: string, (world: TellingWorld) => void, line: string | RegExp];

/** 20 requests a second, of which the last `failing` fail. */
const beside = (failing: number, happens: (it: TellingWorld) => void) => (it: TellingWorld) => {
  it.answered(20 - failing);
  happens(it);
};

describe('failures', () => {
  it.each<Case>([
    [
      'of one key and many clients are no outage',
      beside(4, (it) => it.failed(4, TIMEOUT, 'pendingTraces', ONE_KEY)),
      'DEGRADED: 20 % of requests fail. The indexer does not answer in time.',
    ],
    [
      'of one of many clients and many keys are no outage',
      beside(4, (it) => it.failed(4, TIMEOUT, 'pendingTraces', ONE_CLIENT)),
      'DEGRADED: 20 % of requests fail. The indexer does not answer in time.',
    ],
    [
      'of two clients and two keys are an outage',
      beside(2, (it) => {
        it.failed(1, TIMEOUT, 'pendingTraces', { key: 'k', client: 'c' });
        it.failed(1, TIMEOUT, 'pendingTraces', { key: 'l', client: 'd' });
      }),
      'FAILING: 10 % of requests fail. The indexer does not answer in time.',
    ],
    [
      'of the client with most of all requests are an outage',
      (it) => {
        it.answered(9);
        it.answered(7, 'hit-memory', 'pendingTraces', 'c');
        it.failed(4, TIMEOUT, 'pendingTraces', ONE_CLIENT);
      },
      'FAILING: 20 % of requests fail. The indexer does not answer in time.',
    ],
    [
      'of a client with less than half of all requests are no outage',
      (it) => {
        it.answered(12);
        it.answered(4, 'hit-memory', 'pendingTraces', 'c');
        it.failed(4, TIMEOUT, 'pendingTraces', ONE_CLIENT);
      },
      'DEGRADED: 20 % of requests fail. The indexer does not answer in time.',
    ],
    [
      'of the client with most requests are no outage if they have one key',
      (it) => {
        it.answered(16, 'hit-memory', 'pendingTraces', 'c');
        it.failed(4, TIMEOUT, 'pendingTraces', { key: 'k', client: 'c' });
      },
      'DEGRADED: 20 % of requests fail. The indexer does not answer in time.',
    ],
    [
      'of the client with most requests are no outage if they are refused for load, and all others are answered',
      (it) => {
        it.answered(5);
        it.refused(15, 'queue-full', ONE_CLIENT);
      },
      'DEGRADED: 75 % of requests fail. There are more requests than the indexer can answer.',
    ],
    [
      'for load of the only client are an outage',
      (it) => it.refused(15, 'queue-full', ONE_CLIENT),
      'FAILING: 100 % of requests fail. There are more requests than the indexer can answer.',
    ],
    [
      'for load of an address that names others in a header that is not read are an outage',
      (it) => {
        it.answered(5);
        it.refused(15, 'queue-full', { client: 'c', unreadHeader: 'X-Forwarded-For' });
      },
      'FAILING: 75 % of requests fail. There are more requests than the indexer can answer.',
    ],
    [
      'by a used-up rate of the client with most requests are an outage',
      (it) => {
        it.answered(5);
        it.refused(15, 'rate-limit', ONE_CLIENT);
      },
      'FAILING: 75 % of requests fail. The rate limit of the indexer is used up.',
    ],
    [
      'for load, and one of another kind, of the client with most requests are an outage',
      (it) => {
        it.answered(5);
        it.refused(14, 'queue-full', ONE_CLIENT);
        it.failed(1, TIMEOUT, 'pendingTraces', ONE_CLIENT);
      },
      /^FAILING: 75 % /,
    ],
    [
      'of passed-through requests count as those of operations',
      beside(4, (it) => it.failed(4, TIMEOUT, 'passthrough')),
      'FAILING: 20 % of requests fail (passthrough). The indexer does not answer in time.',
    ],
    [
      'of streams count as those of operations',
      beside(1, (it) => it.failed(1, failure('upstream-unreachable', { indexer: 'stream:1' }), 'streaming')),
      'FAILING: 5 % of requests fail (streaming). stream:1 is unreachable.',
    ],
  ])('%s', (_, happens, line) => {
    const world = new TellingWorld();
    world.pass(5, () => happens(world));
    if (typeof line === 'string') expect(world.line).toBe(line);
    else expect(world.line).toMatch(line);
  });

  it('of one key and an outage before it end after a minute each', () => {
    const world = new TellingWorld();
    world.pass(5, () => [world.answered(10), world.failed(5, TIMEOUT)]);
    expect(world.level).toBe('FAILING');
    world.pass(80, () => [world.answered(10), world.failed(5, TIMEOUT, 'pendingTraces', ONE_KEY)]);
    expect(world.level).toBe('DEGRADED');
    world.pass(80, () => world.answered(10));
    expect(world.log).toEqual([
      'failing no-answer',
      // The outage lasted until its last failure, and its cause is the one that was then true.
      expect.stringMatching(/^over one-unanswered 1\d$/),
      'degraded one-unanswered',
      expect.stringMatching(/^over one-unanswered 7\d$/),
    ]);
  });

  it('of a client that begins with a burst are not those of most requests', () => {
    const world = new TellingWorld();
    world.pass(10, () => world.answered(10));
    world.pass(1, () => world.failed(5, TIMEOUT, 'pendingTraces', ONE_CLIENT));
    world.pass(20, () => [world.answered(10), world.failed(1, TIMEOUT, 'pendingTraces', ONE_CLIENT)]);
    expect(world.log).toEqual(['degraded one-unanswered']);
  });

  it('of a lone request each 20 s to an indexer that is down are an outage', () => {
    const world = new TellingWorld();
    for (let time = 0; time < 4; time++) {
      world.failed(1, TIMEOUT, 'pendingTraces', ONE_CLIENT);
      world.pass(20);
    }
    world.pass(1, () => world.failed(1, TIMEOUT, 'pendingTraces', ONE_CLIENT));
    expect(world.line).toMatch(/^FAILING: 100 % of requests failed in 1 min\. /);
  });

  it('are watched for as long as one of the last five minutes is known', () => {
    const world = new TellingWorld();
    expect(world.share.isWatching).toBe(false);
    world.failed(1, TIMEOUT);
    world.pass(299);
    expect(world.share.isWatching).toBe(true);
    world.pass(3);
    expect(world.share.isWatching).toBe(false);
  });
});

describe('failures of the indexer that are passed on', () => {
  it.each<Case>([
    [
      'for more than half of the requests are told',
      (it) => [it.answered(20), it.passed(9, 200), it.passed(11, 502)],
      'DEGRADED: the indexer answers 502 to 55 % of the passed-through requests.',
    ],
    ['for half of the requests are not told', (it) => [it.answered(20), it.passed(10, 200), it.passed(10, 502)], OK],
    ['are those of gateways alone', (it) => [it.answered(20), it.passed(11, 500)], OK],
    ['for one target are not told', (it) => [it.answered(20), it.passed(11, 502, 'passthrough', ONE_KEY)], OK],
    ['of one client are not told', (it) => [it.answered(20), it.passed(11, 502, 'passthrough', ONE_CLIENT)], OK],
    [
      'of the client with most of all requests are told',
      (it) => it.passed(11, 503, 'passthrough', ONE_CLIENT),
      'DEGRADED: the indexer answers 503 to 100 % of the passed-through requests.',
    ],
    [
      'of streams are told, however many other requests are answered',
      (it) => [it.answered(20), it.passed(20, 200), it.passed(1, 502, 'streaming')],
      'DEGRADED: the Streaming API answers 502 to 100 % of the requests for streams.',
    ],
    [
      'do not hide that requests get no answer',
      (it) => [it.passed(11, 502), it.failed(2, TIMEOUT)],
      'FAILING: 15 % of requests fail (pendingTraces). The indexer does not answer in time.',
    ],
  ])('%s', (_, happens, line) => {
    const world = new TellingWorld();
    world.pass(5, () => happens(world));
    expect(world.line).toBe(line);
  });

  it('are told until a minute after the last one, also if there are few', () => {
    const world = new TellingWorld();
    for (let time = 0; time < 5; time++) {
      world.passed(1, 502);
      world.pass(12, () => world.answered(10));
    }
    expect(world.level).toBe('DEGRADED');
    world.pass(75, () => [world.answered(10), world.passed(1, 200)]);
    expect(world.log).toEqual(['degraded passed-fails', expect.stringMatching(/^over passed-fails/)]);
  });
});

describe('what is passed through', () => {
  it('shows nothing about slow answers, memory and the indexer', () => {
    const world = new TellingWorld(['a', 'backup']);
    world.pass(5, () => {
      world.passed(50, 200);
      world.passed(50, 502, 'passthrough', ONE_CLIENT);
      world.answered(40);
      for (const [status, ms] of [
        [502, 10],
        [200, 9000],
      ] as const)
        for (const indexer of ['a', 'backup'])
          for (let time = 0; time < 10; time++)
            world.events.report({ name: 'upstream-answered', indexer, operation: 'passthrough', status, ms });
      for (let time = 0; time < 40; time++) world.events.report({ name: 'evicted' });
    });
    expect(world.level).toBe('OK');
  });

  it('is on both sides of what is saved; streams are on none', () => {
    const world = new TellingWorld();
    world.answered(10);
    world.answered(30, 'collapsed', 'passthrough');
    world.answered(10, 'miss', 'passthrough');
    world.answered(10, 'miss', 'streaming');
    for (let time = 0; time < 10; time++)
      world.events.report({ name: 'upstream-answered', indexer: 'a', operation: 'passthrough', status: 200, ms: 1 });
    expect(world.counted.totals).toMatchObject({ answered: 50, sent: 10 });
  });
});
