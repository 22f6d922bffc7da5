import { accountRows } from './account-rows.ts';

export const walletStates = accountRows('walletStates', 'wallets', 'address');
