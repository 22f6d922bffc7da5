import { listedState } from '../listed-state.ts';
import { operation } from '../operation.ts';

/** The state of one account, with the type and seqno of its wallet. */
export const walletStates = operation({
  name: 'walletStates',
  summary: 'The state of one account, with the type and seqno of its wallet',
  ...listedState('wallets'),
});
