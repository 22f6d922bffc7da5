import { z } from 'zod';
import { finalityOfAccountRows } from '../account-row.ts';
import { type CanonicalRequest, pairs, parameterOf } from '../canonical-request.ts';
import { completenessOfTransfers, evidenceOfTransfers, pointOfTransfers } from '../jetton-transfers-page.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { namesHeaders, WITHOUT_NAMES } from '../listed-state.ts';
import { operation } from '../operation.ts';
import { type OwnerKey, transfersFrom, transfersOf, transfersTo } from '../owner-keys.ts';
import {
  limit,
  notCached,
  onlyAddress,
  onlyDescending,
  onlyDirection,
  onlyFirstPage,
  onlyLt,
  onlySeconds,
} from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    owner_address: onlyAddress,
    jetton_wallet: onlyAddress,
    // The indexer reads any other word as `out`.
    direction: onlyDirection,
    start_lt: onlyLt,
    start_utime: onlySeconds,
    limit,
    offset: onlyFirstPage,
    sort: onlyDescending,
    ...WITHOUT_NAMES,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { owner_address, jetton_wallet, direction, start_lt, start_utime, limit, sort } = given;
    const isOfWallet = jetton_wallet !== undefined;
    if (isOfWallet === (owner_address !== undefined) || (isOfWallet && direction !== undefined)) {
      return notCached(ctx, 'accepted: owner_address with or without direction, or jetton_wallet');
    }
    return {
      query: pairs({ owner_address, jetton_wallet, direction, start_lt, start_utime, limit, sort }),
      headers: namesHeaders(given),
    };
  });

/** The keys of the transfers that a page lists. */
function keysOf(request: CanonicalRequest): readonly OwnerKey[] {
  const owner = parameterOf(request, 'owner_address');
  if (owner === undefined) return [transfersOf(parameterOf(request, 'jetton_wallet') ?? '')];
  const direction = parameterOf(request, 'direction');
  return [...(direction === 'out' ? [] : [transfersTo(owner)]), ...(direction === 'in' ? [] : [transfersFrom(owner)])];
}

/** The newest transfers of one owner, or of one jetton wallet. */
export const jettonTransfers = operation({
  name: 'jetton/transfers',
  summary: 'The newest jetton transfers of one owner or one jetton wallet',
  schema,
  finality: ({ jetton_transfers: list }) => finalityOfAccountRows(list),
  lifetimeRules: () => ['accountLive'],
  completeness: (_, { jetton_transfers: list }, request) => completenessOfTransfers(request, list),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: ({ jetton_transfers: list }) => pointOfTransfers(list),
  tags: (request) => tagsOfParameters(request, { owner_address: 'account', jetton_wallet: 'account' }),
  evidence: (request, body) => evidenceOfTransfers(request, body, keysOf(request)),
  touchedBy: keysOf,
  keepsNotFound: false,
  cheapQuery: [['jetton_wallet', `0:${'0'.repeat(64)}`]],
});
