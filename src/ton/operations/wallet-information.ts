import { ACCOUNT_STATE } from '../account-state.ts';
import { operation } from '../operation.ts';

/** The balance, type and seqno of one wallet. The indexer answers 409 for an account that is not a wallet. */
export const walletInformation = operation({
  name: 'walletInformation',
  aliases: ['wallet'],
  summary: 'The balance, type and seqno of one wallet',
  // walletkit sends it. The indexer reads only `address` and `use_v2` (V2AccountRequest in ton-index-go/index).
  unread: ['include_boc'],
  ...ACCOUNT_STATE,
});
