import { z } from 'zod';
import { isObject } from '../../json-object.ts';
import { actionsInput } from '../actions-input.ts';
import { type CanonicalRequest, flagHeader, pairs } from '../canonical-request.ts';
import { NO_POINT } from '../chain-point.ts';
import { latestCounts } from '../completeness.ts';
import { type Finality, isFinal } from '../finality.ts';
import { NO_HASH } from '../hash.ts';
import { finalityOfLists } from '../lists.ts';
import { operation } from '../operation.ts';
import { accounts, actionsVersion, actionTypes, flag, hashSet } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    account: accounts,
    ext_msg_hash: hashSet,
    supported_action_types: actionTypes,
    x_no_address_book: flag,
    x_no_metadata: flag,
    'x-actions-version': actionsVersion,
    'x-no-address-book': flag,
    'x-no-metadata': flag,
  })
  .transform((given, ctx): CanonicalRequest => {
    if (given.account.length === 0 && given.ext_msg_hash.length === 0) {
      ctx.addIssue('account or ext_msg_hash should be specified');
      return z.NEVER;
    }
    const actions = actionsInput(given['x-actions-version'], given.supported_action_types);
    // An empty value names no message, so it is dropped next to an account.
    const hashes = given.account.length === 0 ? given.ext_msg_hash : given.ext_msg_hash.filter((hash) => hash !== '');
    return {
      query: [...pairs({ account: given.account, ext_msg_hash: hashes }), ...actions.query],
      headers: [
        ...actions.header,
        ...flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
        ...flagHeader('X-No-Metadata', given['x-no-metadata'], given.x_no_metadata),
      ],
    };
  });

function finalityOfTraces(traces: readonly unknown[]): Finality<'pendingFinalized' | 'pendingLive'> {
  const isSettled = (trace: unknown) => {
    if (!isObject(trace) || !isObject(trace['transactions'])) return false;
    const transactions = Object.values(trace['transactions']);
    return transactions.length > 0 && transactions.every(isFinal);
  };
  return { rule: traces.every(isSettled) ? 'pendingFinalized' : 'pendingLive' };
}

/** The pending traces of accounts, or of external messages. */
export const pendingTraces = operation({
  name: 'pendingTraces',
  isAlwaysCached: true,
  summary: 'The pending traces of accounts or external messages; the request must name at least one',
  schema,
  finality: finalityOfLists({ traces: finalityOfTraces }, 'empty'),
  lifetimeRules: () => ['pendingFinalized', 'pendingLive', 'empty'],
  // A finished trace leaves the list, so an empty list is not less complete than a full one.
  completeness: latestCounts,
  retention: undefined,
  // They come from the emulator, which can be ahead of the database that answers the other operations.
  chainPoint: () => NO_POINT,
  tags: (request) => tagsOfParameters(request, { account: 'account', ext_msg_hash: 'hash' }),
  cheapQuery: [['ext_msg_hash', NO_HASH]],
  remedy: 'start its API with -redis, together with the emulator',
});
