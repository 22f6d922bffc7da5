import { ACCOUNT_STATE } from '../account-state.ts';
import { operation } from '../operation.ts';

/** The balance, type and seqno of one wallet. The indexer answers 409 for an account that is not a wallet. */
export const walletInformation = operation({
  name: 'walletInformation',
  summary: 'The balance, type and seqno of one wallet',
  ...ACCOUNT_STATE,
});
