import { ACCOUNT_STATE } from '../account-state.ts';
import { operation } from '../operation.ts';

/** The balance, code and data of one account. */
export const addressInformation = operation({
  name: 'addressInformation',
  summary: 'The balance, code and data of one account',
  ...ACCOUNT_STATE,
});
