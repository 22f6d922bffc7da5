import { accountRows } from './account-rows.ts';

export const jettonTransfers = accountRows('jetton/transfers', 'jetton_transfers', 'owner_address');
