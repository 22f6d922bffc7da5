import { accountRows } from './account-rows.ts';

export const jettonWallets = accountRows('jetton/wallets', 'jetton_wallets', 'owner_address');
