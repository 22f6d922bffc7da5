import { stateOperation } from './account-state.ts';

export const addressInformation = stateOperation('addressInformation', [200]);
