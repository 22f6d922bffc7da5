import { isObject } from '../../../json-object.ts';
import type { OperationName } from '../../../ton/operation-names.ts';
import { addressSpellings, decodeAddress } from '../../simulator/spellings.ts';
import type { RowsIn } from '../bodies.ts';
import { checkSet } from '../check-spellings.ts';
import { examine, unkeepable } from '../examine.ts';
import type { VerifiedOperation } from '../operation.ts';

/** The state of an account has no rows, and counts as one row here. */
const stateIn: RowsIn = (body) => {
  const isState = isObject(body) && typeof body['balance'] === 'string';
  return { name: 'state', rows: isState ? [body] : [], problems: isState ? [] : ['there is no balance'] };
};

/** The checks of an operation that answers with the state of an account: in all spellings, and of busy accounts. */
export function stateOperation(name: OperationName, statuses: readonly number[]): VerifiedOperation {
  const operation: VerifiedOperation = {
    name,
    rowsIn: stateIn,
    badInput: [['address=x', 'address']],
    check: async (run, { chosen, transactions }) => {
      const account = decodeAddress(chosen?.account ?? '');
      if (account === undefined) return run.report.notAsked('state', `${name}?address=`, 'no transaction was found');
      const [query = '', ...others] = Object.values(addressSpellings(account)).map((each) => `address=${each}`);
      const queries = [query, ...others, `include_boc=true&${query}`, `${query}&use_v2=false`];
      await checkSet(run, operation, queries, statuses);
      for (const each of transactions) {
        const target = `${name}?address=${each.account}`;
        await examine(run, { check: 'state', rowsIn: stateIn, target, statuses, problemsOf: unkeepable });
      }
    },
  };
  return operation;
}
