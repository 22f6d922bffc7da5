import { expect, test } from 'vitest';
import { type ErrorCode, ProxyError, UPSTREAM_FAILURES } from '../../src/errors.ts';
import { FAILURES } from '../../src/failures/codes.ts';
import {
  OUTCOMES,
  type Outcome,
  outcomeOf,
  outcomeOfPassed,
  outcomeOfResult,
  outcomeOfStatus,
  resultIn,
} from '../../src/outcomes.ts';

const ALL = Object.keys(OUTCOMES) as Outcome[];
/** Those of operations; the others are never kept. */
const OF_OPERATIONS = ALL.filter((outcome) => !outcome.startsWith('passed-'));

/** The failure that clients get for this outcome. */
function failureOf(outcome: Outcome): ProxyError {
  const status: Partial<Record<Outcome, number>> = { failed: 500, 'client-error': 422, 'not-served': 501 };
  const isOwnAnswer = outcome === 'own-error' || undefined;
  return new ProxyError(OUTCOMES[outcome].client as ErrorCode, '', { upstreamStatus: status[outcome], isOwnAnswer });
}

test('every failure code of an indexer is in the table, and every code in the table is registered', () => {
  const codes = ALL.map((outcome) => OUTCOMES[outcome].client).filter((client) => client !== 'its answer');
  expect(UPSTREAM_FAILURES.filter((code) => !codes.includes(code))).toEqual([]);
  expect(codes.filter((code) => !(code in FAILURES))).toEqual([]);
});

test('the failure that clients get identifies its outcome', () => {
  const ending = OF_OPERATIONS.filter(
    (outcome) => OUTCOMES[outcome].client !== 'its answer' && outcome !== 'idle-broken',
  );
  expect(ending.map((outcome) => outcomeOf(failureOf(outcome)))).toEqual(ending);
  expect(outcomeOf(new ProxyError('not-served', ''))).toBe('refused');
  expect(outcomeOf(new ProxyError('client-closed-request', ''))).toBe('unknown');
});

test('only failures that come from the indexer are kept', () => {
  const kept = ALL.filter((outcome) => OUTCOMES[outcome].kept === 'briefly');
  expect(kept.map((outcome) => failureOf(outcome).wentForward)).toEqual(kept.map(() => true));
  const notSent = (outcome: Outcome) => !['idle-broken', 'own-error'].includes(outcome);
  const others = OF_OPERATIONS.filter((outcome) => OUTCOMES[outcome].kept === 'no' && notSent(outcome));
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
  ['own-error', 'unknown', 'unknown', 'unknown'],
  ['passed-refused', 'unknown', 'unknown', 'unknown'],
  ['passed-key-refused', 'unknown', 'unknown', 'unknown'],
  ['passed-limited', 'unknown', 'failure', 'success'],
  ['passed-failed', 'unknown', 'unknown', 'failure'],
  ['passed-redirect', 'success', 'success', 'success'],
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
  ['402', 'refused-key'],
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

test('the statuses 3xx, 401, 402, 403, 429 and 501 decide the outcome without the body', () => {
  const deciding = [200, 204, 302, 304, 401, 402, 403, 404, 422, 429, 500, 501, 503].filter(outcomeOfStatus);
  expect(deciding).toEqual([302, 304, 401, 402, 403, 429, 501]);
});

test('a 4xx fails an operation, unless it can report a fault of the request', () => {
  const statuses = Array.from({ length: 100 }, (_, n) => 400 + n);
  const ofRequests = [400, 409, 410, 413, 414, 416, 422, 431];
  const others = [401, 402, 403, 404, 429];
  expect(statuses.filter((status) => outcomeOfResult(String(status)) === 'client-error')).toEqual(ofRequests);
  expect(statuses.filter((status) => outcomeOfResult(String(status)) !== 'failed')).toEqual(
    [...ofRequests, ...others].sort(),
  );
  for (const upstreamStatus of statuses.filter((status) => !others.includes(status)))
    expect(outcomeOf(new ProxyError('upstream-error', '', { upstreamStatus }))).toBe(
      outcomeOfResult(String(upstreamStatus)),
    );
});

test('a passed-through request: only the refusal of our key is not the answer to its client', () => {
  for (const status of [200, 204, 206, 302, 304, 400, 401, 402, 403, 404, 422, 429, 451, 500, 501, 599])
    for (const hadOurKey of [true, false])
      for (const isOwnError of [true, false]) {
        const { client, health, failureOf, again } =
          OUTCOMES[
            outcomeOfPassed({
              status,
              hadOurKey,
              isOwnError,
              leadsElsewhere: false,
            })
          ];
        const isRefusal = [401, 402, 403].includes(status);
        const isOfOurKey = hadOurKey && isRefusal && !(status === 401 && isOwnError);
        expect([status, client, again]).toEqual(
          isOfOurKey
            ? [status, 'upstream-unauthorized', 'with another key']
            : [status, 'its answer', expect.anything()],
        );
        if (isRefusal) expect([status, health, failureOf]).toEqual([status, 'unknown', 'unknown']);
        else expect([status, health]).toEqual([status, status >= 500 ? 'failure' : 'success']);
      }
});
