import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REQUEST_OUTCOMES } from '../../../../src/answer/phase.ts';
import { failure, overloaded } from '../../../../src/errors.ts';
import { flowOf } from '../../../../src/operate/status/flow.ts';
import { TellingWorld } from '../../tell/telling-world.ts';

const INDEXERS = [{ name: 'a' }, { name: 'b' }];
const flowIn = (world: TellingWorld) => flowOf(world.counted, INDEXERS);
const sumOf = ({ parts }: ReturnType<typeof flowOf>) => Object.values(parts).reduce((sum, count) => sum + count, 0);

/** How a request may end, by a name. */
const ENDS: Readonly<Record<string, (world: TellingWorld) => void>> = {
  ...Object.fromEntries(
    REQUEST_OUTCOMES.filter((outcome) => outcome !== 'failed').map((outcome) => [
      outcome,
      (it: TellingWorld) => it.events.report({ name: 'answered', operation: 'pendingTraces', outcome }),
    ]),
  ),
  'passed and sent': (it) => it.events.report({ name: 'answered', operation: 'passthrough', outcome: 'miss' }),
  'passed and joined': (it) => it.events.report({ name: 'answered', operation: 'passthrough', outcome: 'collapsed' }),
  streamed: (it) => it.events.report({ name: 'answered', operation: 'streaming', outcome: 'miss' }),
  'limited early': (it) => it.limited(1),
  limited: (it) => it.failed(1, failure('too-many-requests')),
  refused: (it) => it.failed(1, overloaded('queue-full', 0)),
  'shutting down': (it) => it.failed(1, failure('shutting-down')),
  'over the rate': (it) => it.failed(1, overloaded('rate-limit', 0)),
  'timed out': (it) => it.failed(1, failure('upstream-timeout')),
};

describe('the flow of requests', () => {
  it('has as many clients as its parts, but for their mistakes', () => {
    const ends = fc.array(fc.constantFrom(...Object.keys(ENDS)), { maxLength: 60 });
    fc.assert(
      fc.property(ends, (names) => {
        const world = new TellingWorld(['a', 'b']);
        world.pass(1, () => {
          for (const name of names) ENDS[name]?.(world);
        });
        const flow = flowIn(world);
        expect(sumOf(flow)).toBe(flow.clients);
        expect(flow.clients).toBe(names.filter((name) => name !== 'invalid').length);
      }),
    );
  });

  it('has each part, the requests of each indexer, and those that are our own', () => {
    const world = new TellingWorld(['a', 'b']);
    world.pass(12, () => {
      for (const name of Object.keys(ENDS)) ENDS[name]?.(world);
      world.sent(3, 200, { indexer: 'a' });
      world.sent(1, 500, { indexer: 'b' });
    });
    const { seconds, clients, parts, own, indexers } = flowIn(world);
    expect(seconds).toBeGreaterThanOrEqual(10);
    const each = (count: number) => count * Math.round(seconds);
    expect(clients).toBe(each(15));
    expect(parts).toEqual({
      memory: each(1),
      proven: each(1),
      redis: each(1),
      joined: each(2),
      stale: each(1),
      sentOn: each(3),
      refused: each(5),
      failed: each(1),
    });
    expect(Object.keys(parts)).toEqual(['memory', 'proven', 'redis', 'joined', 'stale', 'sentOn', 'refused', 'failed']);
    expect(indexers).toEqual([
      { upstream: 'a', requests: each(3), failed: 0 },
      { upstream: 'b', requests: each(1), failed: each(1) },
    ]);
    // A miss and a passed request were sent; a stream has a server of its own.
    expect(own).toBe(each(2));
  });

  it('counts less than 10 s at first, and never fewer than no requests of our own', () => {
    const world = new TellingWorld(['a', 'b']);
    world.pass(3, () => world.answered(5, 'miss'));
    expect(flowIn(world).seconds).toBeLessThan(10);
    expect(flowIn(world).own).toBe(0);
  });
});
