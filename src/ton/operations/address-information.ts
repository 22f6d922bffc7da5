import { ACCOUNT_STATE } from '../account-state.ts';
import { operation } from '../operation.ts';

/** The balance, code and data of one account. */
export const addressInformation = operation({
  name: 'addressInformation',
  aliases: ['account'],
  summary: 'The balance, code and data of one account',
  // walletkit sends it. The indexer reads only `address` and `use_v2` (V2AccountRequest in ton-index-go/index).
  unread: ['include_boc'],
  ...ACCOUNT_STATE,
});
