import { isObject } from '../../../json-object.ts';
import type { RowsIn } from '../bodies.ts';
import { examine, type Run, unkeepable } from '../examine.ts';
import type { VerifiedOperation } from '../operation.ts';

/** The newest block, as the one row of the answer. */
const rowsIn: RowsIn = (body) => {
  const last = isObject(body) ? body['last'] : undefined;
  return isObject(last)
    ? { name: 'last', rows: [last], problems: [] }
    : { name: 'last', rows: [], problems: ['last is no object'] };
};

/** Checks that the head is answered, and that clients must not keep it. */
async function check(run: Run): Promise<void> {
  await examine(run, {
    check: 'head',
    rowsIn,
    target: 'masterchainInfo',
    statuses: [200],
    problemsOf: unkeepable,
  });
}

export const masterchainInfo: VerifiedOperation = { name: 'masterchainInfo', rowsIn, badInput: [], check };
