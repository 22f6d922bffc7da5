import { changesOfState, latestOf, renderState } from '../account-state.ts';
import type { SimulatedOperation } from '../operation.ts';
import type { SimulatorQuestion } from '../question.ts';
import { digest } from '../seeded-random.ts';

/** The state of an account, with its code and data; `uninit` for an unknown one. */
function answer(question: SimulatorQuestion): object {
  const latest = latestOf(question);
  const cell = (part: string) => (latest === undefined ? null : `te6cckEBAgEA${digest(latest.hash, part)}`);
  const code = latest === undefined ? null : `te6cckEBAgEA${digest(latest.account.kind, 'code')}`;
  return { ...renderState(latest), code, data: cell('data'), frozen_hash: null };
}

export const addressInformation = {
  name: 'addressInformation',
  aliases: ['account'],
  answer,
  changes: changesOfState,
} as const satisfies SimulatedOperation;
