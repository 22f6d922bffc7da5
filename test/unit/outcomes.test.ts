import { expect, test } from 'vitest';
import { type ErrorCode, ProxyError, UPSTREAM_FAILURES } from '../../src/errors.ts';
import { FAILURES } from '../../src/failures/codes.ts';
import { OUTCOMES, type Outcome, outcomeOf, outcomeOfResult, outcomeOfStatus, resultIn } from '../../src/outcomes.ts';

const ALL = Object.keys(OUTCOMES) as Outcome[];

/** The failure that clients get for this outcome. */
function failureOf(outcome: Outcome): ProxyError {
  const status: Partial<Record<Outcome, number>> = { failed: 500, 'client-error': 422, 'not-served': 501 };
  return new ProxyError(OUTCOMES[outcome].client as ErrorCode, '', { upstreamStatus: status[outcome] });
}

test('every failure code of an indexer is in the table, and every code in the table is registered', () => {
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

test('only failures that come from the indexer are kept', () => {
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
  '%s counts for the circuit breakers of operations not served, of the pause and of the operation as %s, %s, %s',
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
])('requests counted under the result %s have the outcome %s', (result, outcome) => {
  expect(outcomeOfResult(result)).toBe(outcome);
});

test('the statuses 3xx, 401, 403, 429 and 501 decide the outcome without the body', () => {
  const deciding = [200, 204, 302, 304, 401, 403, 404, 422, 429, 500, 501, 503].filter(outcomeOfStatus);
  expect(deciding).toEqual([302, 304, 401, 403, 429, 501]);
});
