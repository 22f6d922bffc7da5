import { z } from 'zod';
import type { JsonObject } from '../../json-object.ts';
import { type CanonicalRequest, flagHeader, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfLists } from '../chain-point.ts';
import { completenessOfGrowingPage } from '../completeness.ts';
import { finalityOfFinalRows } from '../final-rows.ts';
import { type Finality, isFinal, newestNowOf } from '../finality.ts';
import { NO_HASH } from '../hash.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { finalityOfLists, isShort } from '../lists.ts';
import { isInternal, receivedMessages, sentMessages } from '../messages.ts';
import { operation } from '../operation.ts';
import { flag, limit, notCached, onlyDirection, onlyFirstPage, onlyHash, onlySort } from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    msg_hash: onlyHash,
    direction: onlyDirection,
    limit,
    offset: onlyFirstPage,
    sort: onlySort,
    x_no_address_book: flag,
    'x-no-address-book': flag,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { msg_hash, direction, limit, sort } = given;
    if (msg_hash === undefined) return notCached(ctx, 'accepted: msg_hash');
    return {
      query: pairs({ msg_hash, direction, limit, sort }),
      headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
    };
  });

/**
 * A message is sent by one transaction, and an internal message is received by one. An external message can be accepted
 * twice. If the other side of a message is missing, nothing shows whether it will appear.
 */
function finalityOfSides(
  rows: readonly unknown[],
  request: CanonicalRequest,
): Finality<'byHashFinal' | 'byHashGrowing' | 'byHashLive'> {
  if (!rows.every(isFinal)) return { rule: 'byHashLive' };
  if (isShort(rows, request) && areAllSides(rows, request)) {
    return finalityOfFinalRows(rows, 'byHashFinal', 'byHashGrowing');
  }
  return { rule: 'byHashGrowing', ...newestNowOf(rows.map(({ now }) => now)) };
}

/** True if no other transaction can send or receive the message. */
function areAllSides(rows: readonly JsonObject[], request: CanonicalRequest): boolean {
  const hash = parameterOf(request, 'msg_hash') ?? '';
  const received = receivedMessages(rows, hash);
  const sent = sentMessages(rows, hash);
  if (received.length + sent.length !== rows.length) return false;
  switch (parameterOf(request, 'direction')) {
    case 'in':
      return received.length === 1 && received.every(isInternal);
    case 'out':
      return sent.length === 1;
    default:
      // A message without a receiver is a log entry.
      return sent.length === 1 && [...received, ...sent].every(received.length === 1 ? isInternal : isLog);
  }
}

function isLog({ destination }: JsonObject): boolean {
  return destination === null;
}

/** The transactions that send and receive a message. */
export const transactionsByMessage = operation({
  name: 'transactionsByMessage',
  summary: 'The transactions that send and receive a message',
  schema,
  finality: finalityOfLists({ transactions: finalityOfSides }, 'empty'),
  lifetimeRules: () => ['byHashFinal', 'byHashGrowing', 'byHashLive', 'empty'],
  // A final answer gains no more rows.
  completeness: completenessOfGrowingPage('transactions'),
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfLists('transactions'),
  tags: (request) => tagsOfParameters(request, { msg_hash: 'hash' }),
  cheapQuery: [['msg_hash', NO_HASH]],
});
