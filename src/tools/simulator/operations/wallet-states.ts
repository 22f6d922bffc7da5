import { changesOfState, includesBoc, latestOfAll, renderState, walletOf } from '../account-state.ts';
import type { SimulatedOperation } from '../operation.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderNames } from '../render-jettons.ts';
import { codeHashOf, codeOf } from '../render-transaction.ts';

/** The states of accounts, which need not be wallets. Without their data the indexer takes no account for a wallet. */
function answer(question: SimulatorQuestion): object {
  const withBoc = includesBoc(question);
  const found = latestOfAll(question);
  const wallets = found.map((latest) => {
    const code = codeOf(latest, 'after');
    const isWallet = withBoc && code === 'wallet';
    return {
      address: latest.account.address,
      is_wallet: isWallet,
      ...(isWallet && { ...walletOf(latest), is_signature_allowed: true }),
      extra_currencies: {},
      ...renderState(latest),
      ...(code !== null && { code_hash: codeHashOf(code) }),
    };
  });
  const accounts = found.map(({ account }) => account);
  return { wallets, ...renderNames(accounts, question) };
}

export const walletStates = {
  name: 'walletStates',
  answer,
  changes: changesOfState,
} as const satisfies SimulatedOperation;
