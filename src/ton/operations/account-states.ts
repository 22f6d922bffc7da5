import { listedState } from '../listed-state.ts';
import { operation } from '../operation.ts';

/** The state of one account, with its interfaces. */
export const accountStates = operation({
  name: 'accountStates',
  summary: 'The state of one account, with its interfaces',
  ...listedState('accounts'),
});
