import { z } from 'zod';
import { completenessOfAccountRow, evidenceOfAccountRow, finalityOfAccountRows } from '../account-row.ts';
import { type CanonicalRequest, pairs, parameterOf } from '../canonical-request.ts';
import { NO_POINT } from '../chain-point.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { namesHeaders, WITHOUT_NAMES } from '../listed-state.ts';
import { operation } from '../operation.ts';
import { completenessOfWallets, evidenceOfWallets } from '../owned-wallets.ts';
import { walletsOf } from '../owner-keys.ts';
import { limit, notCached, onlyAddress, onlyFirstPage, onlyFlag, onlySort } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    address: onlyAddress,
    owner_address: onlyAddress,
    jetton_address: onlyAddress,
    exclude_zero_balance: onlyFlag,
    limit,
    offset: onlyFirstPage,
    sort: onlySort,
    ...WITHOUT_NAMES,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { address, owner_address, jetton_address, exclude_zero_balance, limit, sort } = given;
    const hasFilters = (jetton_address ?? sort) !== undefined || exclude_zero_balance === true;
    if ((address === undefined) === (owner_address === undefined) || (address !== undefined && hasFilters)) {
      return notCached(
        ctx,
        'accepted: address, or owner_address with or without jetton_address, exclude_zero_balance and sort',
      );
    }
    const omitsZero = exclude_zero_balance === true ? 'true' : undefined;
    return {
      query: pairs({ address, owner_address, jetton_address, exclude_zero_balance: omitsZero, limit, sort }),
      headers: namesHeaders(given),
    };
  });

const ownerIn = (request: CanonicalRequest): string | undefined => parameterOf(request, 'owner_address');

/** One jetton wallet, or the first page of those of one owner. */
export const jettonWallets = operation({
  name: 'jetton/wallets',
  summary: "One jetton wallet by its address, or the first page of one owner's jetton wallets",
  schema,
  finality: ({ jetton_wallets: list }) => finalityOfAccountRows(list),
  lifetimeRules: () => ['accountLive'],
  completeness: (_, { jetton_wallets: list }, request) =>
    // A wallet that was deleted is missing.
    ownerIn(request) === undefined ? completenessOfAccountRow(list, undefined) : completenessOfWallets(list),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: () => NO_POINT,
  tags: (request) => tagsOfParameters(request, { address: 'account', owner_address: 'account' }),
  evidence: (request, body) =>
    ownerIn(request) === undefined
      ? evidenceOfAccountRow(request, body['jetton_wallets'])
      : evidenceOfWallets(request, body),
  touchedBy: (request) => {
    const owner = ownerIn(request);
    return owner === undefined ? undefined : [walletsOf(owner)];
  },
  keepsNotFound: false,
  cheapQuery: [['address', `0:${'0'.repeat(64)}`]],
});
