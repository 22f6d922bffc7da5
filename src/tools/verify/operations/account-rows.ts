import type { OperationName } from '../../../ton/operation-names.ts';
import { addressSpellings, decodeAddress } from '../../simulator/spellings.ts';
import { listed } from '../bodies.ts';
import { checkSet } from '../check-spellings.ts';
import { examine, unkeepable } from '../examine.ts';
import type { VerifiedOperation } from '../operation.ts';

/** The checks of an operation that lists rows of an account in `parameter`: in all spellings, and of busy accounts. */
export function accountRows(name: OperationName, list: string, parameter: string): VerifiedOperation {
  const rowsIn = listed(list);
  const operation: VerifiedOperation = {
    name,
    rowsIn,
    badInput: [[`${parameter}=x`, parameter]],
    check: async (run, { chosen, transactions }) => {
      const account = decodeAddress(chosen?.account ?? '');
      if (account === undefined)
        return run.report.notAsked('rows', `${name}?${parameter}=`, 'no transaction was found');
      const queries = Object.values(addressSpellings(account)).map((each) => `${parameter}=${each}`);
      await checkSet(run, operation, queries, [200]);
      for (const each of transactions) {
        const target = `${name}?${parameter}=${each.account}`;
        await examine(run, { check: 'rows', rowsIn, target, statuses: [200], problemsOf: unkeepable });
      }
    },
  };
  return operation;
}
