import { expect, test } from 'vitest';
import { answer } from '../../../src/tools/simulator/answer.ts';
import { Chain } from '../../../src/tools/simulator/chain.ts';
import { SimulatorQuestion } from '../../../src/tools/simulator/question.ts';
import { rowsIn } from '../../truth/rows.ts';
import { type State, States } from '../../truth/states.ts';
import { lackedSince, ownerCalls, targetOf } from './owner-polls.ts';

const START = Date.UTC(2026, 0, 1);
const chain = new Chain({ startAt: START, historyBlocks: 500, jettons: { owners: 3, everyMs: 5000 } });
chain.advanceTo(START + 80_000);
const states = new States(chain, '1.3');
const CALLS = chain.jettons.owners.flatMap((owner, place) => ownerCalls(owner, place).map(({ call }) => call));

test.each(CALLS)('the answer to $operation of an owner lacks a commit after more than a second', (call) => {
  const bodyAt = (instant: number) => {
    const asked = { method: 'GET', target: targetOf(call), headers: {} };
    return String(answer(new SimulatorQuestion(asked, { chain, dialect: '1.3', instant })).body);
  };
  const rowsOf = (state: State | undefined) => rowsIn(call, state?.said().text ?? '');
  // Not every commit changes the rows.
  const changed = states.of(call).findLast((state, n, all) => n > 0 && rowsOf(state) !== rowsOf(all[n - 1]));
  const at = changed?.fromAt ?? 0;
  expect(at).toBeGreaterThan(START);
  const before = bodyAt(at - 1);
  expect([at, at + 1000, at + 1001].map((sentAt) => lackedSince(states, call, before, sentAt))).toEqual([0, 0, 1001]);
  expect(lackedSince(states, call, bodyAt(at), at + 60_000)).toBe(0);
  expect(lackedSince(states, call, '{}', at)).toBe(Number.POSITIVE_INFINITY);
});

test('every second owner is polled without names', () => {
  const unnamed = CALLS.filter(({ operation }) => operation === 'jetton/wallets').map((call) => targetOf(call));
  expect(unnamed.map((target) => target.endsWith('&x_no_address_book=true&x_no_metadata=true'))).toEqual([
    false,
    true,
    false,
  ]);
});
