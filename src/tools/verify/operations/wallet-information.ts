import { stateOperation } from './account-state.ts';

/** An account that is not a wallet gets 409. */
export const walletInformation = stateOperation('walletInformation', [200, 409]);
