import { z } from 'zod';
import { completenessOfAccountRow, evidenceOfAccountRow, finalityOfAccountRows } from '../account-row.ts';
import { type CanonicalRequest, pairs } from '../canonical-request.ts';
import { NO_POINT } from '../chain-point.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { namesHeaders, WITHOUT_NAMES } from '../listed-state.ts';
import { operation } from '../operation.ts';
import { limit, notCached, onlyAccount, onlyFirstPage } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({ address: onlyAccount, limit, offset: onlyFirstPage, ...WITHOUT_NAMES })
  .transform((given, ctx): CanonicalRequest => {
    const { address, limit } = given;
    if (address === undefined) return notCached(ctx, 'accepted: one address');
    return { query: pairs({ address, limit }), headers: namesHeaders(given) };
  });

/** One jetton master. All other forms are lists of masters. */
export const jettonMasters = operation({
  name: 'jetton/masters',
  summary: 'One jetton master by its address',
  schema,
  finality: ({ jetton_masters: list }) => finalityOfAccountRows(list),
  lifetimeRules: () => ['accountLive'],
  completeness: (_, { jetton_masters: list }) => completenessOfAccountRow(list, 0n),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: () => NO_POINT,
  tags: (request) => tagsOfParameters(request, { address: 'account' }),
  evidence: (request, { jetton_masters: list }) => evidenceOfAccountRow(request, list),
  keepsNotFound: false,
  cheapQuery: [['address', `0:${'0'.repeat(64)}`]],
});
