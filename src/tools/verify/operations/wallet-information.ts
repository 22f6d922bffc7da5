import { stateOperation } from './account-state.ts';

/** An account that is no wallet is answered with 409. */
export const walletInformation = stateOperation('walletInformation', [200, 409]);
