import { changesOfState, latestOf, renderState, walletOf } from '../account-state.ts';
import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';

/** The state of a wallet; an unknown account may become one. Throws an {@link IndexerRefusal}, 409, for any other account. */
function answer(question: SimulatorQuestion): object {
  const latest = latestOf(question);
  if (latest === undefined) return renderState(latest);
  if (latest.account.kind !== 'wallet') throw new IndexerRefusal(409, 'not a wallet');
  return { ...renderState(latest), ...walletOf(latest) };
}

export const walletInformation = {
  name: 'walletInformation',
  aliases: ['wallet'],
  answer,
  changes: changesOfState,
} as const satisfies SimulatedOperation;
