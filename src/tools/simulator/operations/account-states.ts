import { changesOfState, includesBoc, latestOfAll, renderState } from '../account-state.ts';
import type { SimulatedOperation } from '../operation.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderNames } from '../render-jettons.ts';
import { codeHashOf, codeOf, dataHashOf } from '../render-transaction.ts';
import { digest } from '../seeded-random.ts';
import type { Transaction } from '../trace.ts';

function renderAccount(latest: Transaction, withBoc: boolean): object {
  const { account, hash } = latest;
  const code = codeOf(latest, 'after');
  const cells = {
    data_boc: `te6cckEBAgEA${digest(hash, 'data')}`,
    code_boc: `te6cckEBAgEA${digest(code ?? '', 'code')}`,
  };
  return {
    address: account.address,
    account_state_hash: digest(hash, 'after'),
    extra_currencies: {},
    ...renderState(latest),
    ...(code !== null && { data_hash: dataHashOf(latest, 'after'), code_hash: codeHashOf(code) }),
    ...(code !== null && withBoc && cells),
    contract_methods: [],
    interfaces: [],
  };
}

/** The states of accounts, without the unknown ones. */
function answer(question: SimulatorQuestion): object {
  const withBoc = includesBoc(question);
  const found = latestOfAll(question);
  return {
    accounts: found.map((latest) => renderAccount(latest, withBoc)),
    ...renderNames(
      found.map(({ account }) => account),
      question,
    ),
  };
}

export const accountStates = {
  name: 'accountStates',
  answer,
  changes: changesOfState,
} as const satisfies SimulatedOperation;
