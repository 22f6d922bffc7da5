import { accountRows } from './account-rows.ts';

export const accountStates = accountRows('accountStates', 'accounts', 'address');
