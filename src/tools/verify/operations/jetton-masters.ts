import { accountRows } from './account-rows.ts';

export const jettonMasters = accountRows('jetton/masters', 'jetton_masters', 'address');
