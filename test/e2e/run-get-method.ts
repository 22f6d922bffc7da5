import type { Account } from '../../src/tools/simulator/accounts.ts';

export const RUN = '/api/v3/runGetMethod';

/** The request for the result of a get-method. */
export function asking({ address }: Account, method: string, stack: readonly object[] = []) {
  const body = JSON.stringify({ address, method, stack });
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
}
