import { expect, test } from 'vitest';
import { type ErrorCode, ProxyError, UPSTREAM_FAILURES } from '../../src/errors.ts';
import { FAILURES } from '../../src/failures/codes.ts';
import { OUTCOMES, type Outcome, outcomeOf, outcomeOfResult, outcomeOfStatus, resultIn } from '../../src/outcomes.ts';

const ALL = Object.keys(OUTCOMES) as Outcome[];

/** A failure of this outcome as clients get it. */
function failureOf(outcome: Outcome): ProxyError {
  const status: Partial<Record<Outcome, number>> = { failed: 500, 'client-error': 422, 'not-served': 501 };
  return new ProxyError(OUTCOMES[outcome].client as ErrorCode, '', { upstreamStatus: status[outcome] });
}

test('every way in which an indexer can fail is in the table, and every code in it has a status', () => {
  const codes = ALL.map((outcome) => OUTCOMES[outcome].client).filter((client) => client !== 'its answer');
  expect(UPSTREAM_FAILURES.filter((code) => !codes.includes(code))).toEqual([]);
  expect(codes.filter((code) => !(code in FAILURES))).toEqual([]);
});

test('the failure that clients get identifies its outcome', () => {
  const ending = ALL.filter((outcome) => OUTCOMES[outcome].client !== 'its answer' && outcome !== 'idle-broken');
  expect(ending.map((outcome) => outcomeOf(failureOf(outcome)))).toEqual(ending);
  expect(outcomeOf(new ProxyError('not-served', ''))).toBe('refused');
  expect(outcomeOf(new ProxyError('client-closed-request', ''))).toBe('unknown');
});

test('only a failure of the indexer is kept and shared', () => {
  const kept = ALL.filter((outcome) => OUTCOMES[outcome].kept === 'briefly');
  expect(kept.map((outcome) => failureOf(outcome).wentForward)).toEqual(kept.map(() => true));
  const others = ALL.filter((outcome) => OUTCOMES[outcome].kept === 'no' && outcome !== 'idle-broken');
  expect(others.map((outcome) => failureOf(outcome).wentForward)).toEqual(others.map(() => false));
});

test.each<[Outcome, string, string, string]>([
  ['answered', 'success', 'success', 'success'],
  ['absent', 'success', 'success', 'success'],
  ['client-error', 'success', 'success', 'success'],
  ['refused-key', 'success', 'success', 'success'],
  ['redirect', 'success', 'success', 'success'],
  ['not-served', 'failure', 'success', 'success'],
  ['rate-limited', 'unknown', 'failure', 'success'],
  ['failed', 'unknown', 'unknown', 'failure'],
  ['invalid', 'unknown', 'unknown', 'failure'],
  ['timeout', 'unknown', 'unknown', 'failure'],
  ['broken', 'unknown', 'unknown', 'failure'],
  ['unreachable', 'unknown', 'unknown', 'failure'],
  ['refused', 'unknown', 'unknown', 'unknown'],
  ['unknown', 'unknown', 'unknown', 'unknown'],
])(
  '%s is to the breakers of operations that are not served, of the pause, and of its operation: %s, %s, %s',
  (outcome, ...results) => {
    expect((['not-served', 'pause', 'operation'] as const).map((breaker) => resultIn(breaker, outcome))).toEqual(
      results,
    );
  },
);

test.each<[string, Outcome]>([
  ['200', 'answered'],
  ['204', 'invalid'],
  ['302', 'redirect'],
  ['401', 'refused-key'],
  ['403', 'refused-key'],
  ['404', 'answered'],
  ['422', 'client-error'],
  ['429', 'rate-limited'],
  ['500', 'failed'],
  ['501', 'not-served'],
  ['upstream-reset', 'broken'],
  ['upstream-unreachable', 'unreachable'],
  ['shutting-down', 'unknown'],
])('requests that are counted under %s are %s', (result, outcome) => {
  expect(outcomeOfResult(result)).toBe(outcome);
});

test('a status decides alone if the body adds nothing', () => {
  const deciding = [200, 204, 302, 304, 401, 403, 404, 422, 429, 500, 501, 503].filter(outcomeOfStatus);
  expect(deciding).toEqual([302, 304, 401, 403, 429, 501]);
});
