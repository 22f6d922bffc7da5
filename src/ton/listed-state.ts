import { z } from 'zod';
import { completenessOfAccountRow, evidenceOfAccountRow, finalityOfAccountRows } from './account-row.ts';
import { type CanonicalRequest, flagHeader, type Pairs, pairs } from './canonical-request.ts';
import { NO_POINT } from './chain-point.ts';
import { WHILE_REPLICAS_LAG } from './lifetime.ts';
import type { OperationRules } from './operation.ts';
import { flag, notCached, onlyAccount, onlyFlag } from './parameters.ts';
import { tagsOfParameters } from './tags.ts';

/** The parameters and headers that leave names out of a body. */
export const WITHOUT_NAMES = {
  x_no_address_book: flag,
  x_no_metadata: flag,
  'x-no-address-book': flag,
  'x-no-metadata': flag,
};

/** The headers of a request with {@link WITHOUT_NAMES}. */
export function namesHeaders(given: { readonly [Name in keyof typeof WITHOUT_NAMES]: boolean | undefined }): Pairs {
  return [
    ...flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
    ...flagHeader('X-No-Metadata', given['x-no-metadata'], given.x_no_metadata),
  ];
}

/** Several accounts are answered in any order, so they have no cached form. */
const schema = z
  .object({ address: onlyAccount, include_boc: onlyFlag, ...WITHOUT_NAMES })
  .transform((given, ctx): CanonicalRequest => {
    const { address, include_boc } = given;
    if (address === undefined) return notCached(ctx, 'accepted: one address');
    // Without it the answer has code and data; and `walletStates` recognizes no wallet if it is false.
    return {
      query: pairs({ address, include_boc: include_boc === false ? 'false' : undefined }),
      headers: namesHeaders(given),
    };
  });

/** The common part of the operations that answer with a list of states. `list`: its name in the body. */
export function listedState(list: string) {
  return {
    schema,
    finality: ({ [list]: rows }) => finalityOfAccountRows(rows),
    lifetimeRules: () => ['accountLive'],
    completeness: (_, { [list]: rows }) => completenessOfAccountRow(rows, 0n),
    retention: WHILE_REPLICAS_LAG,
    chainPoint: () => NO_POINT,
    tags: (request) => tagsOfParameters(request, { address: 'account' }),
    evidence: (request, { [list]: rows }) => evidenceOfAccountRow(request, rows),
    keepsNotFound: false,
    cheapQuery: [['address', `0:${'0'.repeat(64)}`]],
  } as const satisfies Omit<OperationRules<string, 'accountLive'>, 'name' | 'summary'>;
}
