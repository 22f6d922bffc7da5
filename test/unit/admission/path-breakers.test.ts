import { expect, test } from 'vitest';
import type { BreakerTransition } from '../../../src/admission/breaker.ts';
import type { Outcome } from '../../../src/admission/outcome.ts';
import { PathBreakers } from '../../../src/admission/path-breakers.ts';

const transitions: BreakerTransition[] = [];

function pathBreakers(): PathBreakers {
  transitions.splice(0);
  return new PathBreakers(
    { now: () => 0, random: () => 0, onTransition: (transition) => transitions.push(transition) },
    {
      failureRate: 0.5,
      minimumThroughput: 20,
      windowMs: 10_000,
      openMs: 2000,
      longestOpenMs: 30_000,
    },
  );
}

/** Requests for a path, each with a query of its own. */
function requests(breakers: PathBreakers, path: string, times: number, outcome: Outcome): void {
  for (let n = 0; n < times; n++) {
    const target = `${path}?n=${n}`;
    breakers.of(target).admit(target)?.end(outcome);
  }
}

test('requests for one path share a circuit breaker, whatever their query', () => {
  const breakers = pathBreakers();
  requests(breakers, '/api/v3/blocks', 20, 'server-error');
  expect(breakers.of('/api/v3/blocks').isOpen).toBe(true);
  expect(breakers.of('/api/v3/blocks?limit=1&a=?').admit('any')).toBeUndefined();
  expect(transitions).toEqual([{ state: 'open', openMs: 2000 }]);
});

test.each(['/api/v3/block', '/api/v3/blocks/', '/api/v3', ''])('%s has a circuit breaker of its own', (path) => {
  const breakers = pathBreakers();
  requests(breakers, '/api/v3/blocks', 20, 'timeout');
  expect([breakers.of(path).isOpen, breakers.of(path).admit('any')]).toEqual([false, expect.anything()]);
});

test('a path that cannot be reached does not count as a failure of another', () => {
  const breakers = pathBreakers();
  requests(breakers, '/api/v3/blocks', 19, 'unreachable');
  requests(breakers, '/api/v3/other', 19, 'unreachable');
  expect(transitions).toEqual([]);
});

test('the least recently requested path is forgotten when there are too many', () => {
  const breakers = pathBreakers();
  requests(breakers, '/broken', 20, 'server-error');
  for (let n = 0; n < 299; n++) breakers.of(`/${n}`);
  expect(breakers.of('/broken').isOpen).toBe(true);
  breakers.of('/one-more');
  expect(breakers.of('/broken').isOpen).toBe(true);
  for (let n = 0; n < 300; n++) breakers.of(`/${n}`);
  expect(breakers.of('/broken').isOpen).toBe(false);
});
