import { z } from 'zod';
import { isObject, type JsonObject } from '../../json-object.ts';
import { actionsInput } from '../actions-input.ts';
import { type CanonicalRequest, flagHeader, pairs, parameterOf } from '../canonical-request.ts';
import { pointOfRows } from '../chain-point.ts';
import { type AnswerCompleteness, completenessOfGrowingRows } from '../completeness.ts';
import { finalityOfFinalRows } from '../final-rows.ts';
import { type Finality, isFinal, newestNowOf } from '../finality.ts';
import { NO_HASH } from '../hash.ts';
import { WHILE_REPLICAS_LAG } from '../lifetime.ts';
import { ROWS } from '../lifetime-table.ts';
import { finalityOfLists } from '../lists.ts';
import { isInternal, receivedMessages, sentMessages } from '../messages.ts';
import { operation } from '../operation.ts';
import {
  actionsVersion,
  actionTypes,
  flag,
  limit,
  notCached,
  onlyFirstPage,
  onlyFlag,
  onlyHash,
  onlySort,
} from '../parameters.ts';
import { tagsOfParameters } from '../tags.ts';

const schema = z
  .object({
    tx_hash: onlyHash,
    trace_id: onlyHash,
    msg_hash: onlyHash,
    include_actions: onlyFlag,
    supported_action_types: actionTypes,
    limit,
    offset: onlyFirstPage,
    sort: onlySort,
    x_no_address_book: flag,
    x_no_metadata: flag,
    'x-actions-version': actionsVersion,
    'x-no-address-book': flag,
    'x-no-metadata': flag,
  })
  .transform((given, ctx): CanonicalRequest => {
    const { tx_hash, trace_id, msg_hash, limit, sort } = given;
    const hashes = pairs({ tx_hash, trace_id, msg_hash });
    if (hashes.length !== 1) return notCached(ctx, 'accepted: one of tx_hash, trace_id, msg_hash');
    const options = { include_actions: given.include_actions === true ? 'true' : undefined, limit, sort };
    const words = actionsInput(given['x-actions-version'], given.supported_action_types);
    // Without actions the words change nothing.
    const { query, header } = given.include_actions === true ? words : { query: [], header: [] };
    return {
      query: [...hashes, ...pairs(options), ...query],
      headers: [
        ...header,
        ...flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
        ...flagHeader('X-No-Metadata', given['x-no-metadata'], given.x_no_metadata),
      ],
    };
  });

/**
 * A trace that gains neither transactions nor actions, and is the only possible one for the request, is final. An
 * external message can have several, and gain one more.
 */
function finalityOfTraces(
  traces: readonly unknown[],
  request: CanonicalRequest,
): Finality<'byHashFinal' | 'byHashGrowing' | 'byHashLive'> {
  const whole = traces.filter(isObject).map((trace) => ({ trace, rows: wholeIn(trace) }));
  const [first, ...others] = whole;
  const isExternal = isOfExternalMessage(
    whole.flatMap(({ rows = [] }) => rows),
    request,
  );
  const isWhole = whole.length === traces.length && whole.every(({ rows }) => rows !== undefined);
  const isAsked = isExternal || (others.length === 0 && first !== undefined && isAskedFor(first.trace, request));
  if (!isWhole || !isAsked) return { rule: 'byHashLive' };
  if (!isExternal && first?.rows !== undefined && !lacksActions(first.trace, first.rows, request)) {
    return finalityOfFinalRows(first.rows, 'byHashFinal', 'byHashGrowing');
  }
  return {
    rule: 'byHashGrowing',
    ...newestNowOf(whole.map(({ trace }) => trace['end_utime'])),
  };
}

/**
 * The transactions of a trace, if none is missing. When blocks are committed out of order, the indexer shows a trace
 * without the transactions of the missing block, and calls it complete: only the number of transactions shows that some
 * are missing.
 */
function wholeIn(trace: JsonObject): readonly JsonObject[] | undefined {
  const { trace_info: info, trace: tree, transactions_order: order, is_incomplete: isIncomplete, warning } = trace;
  const rows = transactionsOf(trace);
  if (!isObject(info) || !isObject(tree) || !Array.isArray(order) || !rows.every(isFinal)) return undefined;
  const isComplete = info['trace_state'] === 'complete' && info['pending_messages'] === 0 && isIncomplete === false;
  const hasAll = rows.length > 0 && info['transactions'] === rows.length && order.length === rows.length;
  return isComplete && hasAll && (warning ?? '') === '' ? rows : undefined;
}

function transactionsOf(trace: unknown): readonly unknown[] {
  return isObject(trace) && isObject(trace['transactions']) ? Object.values(trace['transactions']) : [];
}

function isAskedFor({ trace_id: id, transactions }: JsonObject, request: CanonicalRequest): boolean {
  const [traceId, transaction] = ['trace_id', 'tx_hash'].map((name) => parameterOf(request, name));
  if (traceId !== undefined) return id === traceId;
  return transaction === undefined || (isObject(transactions) && Object.hasOwn(transactions, transaction));
}

/** An external message can be accepted again: by any message but an internal one there may be another trace. */
function isOfExternalMessage(rows: readonly JsonObject[], request: CanonicalRequest): boolean {
  const hash = parameterOf(request, 'msg_hash');
  if (hash === undefined) return false;
  return ![...receivedMessages(rows, hash), ...sentMessages(rows, hash)].some(isInternal);
}

/**
 * All actions of a trace appear at once, so a trace with one action has all of them. A single tick-tock transaction has no actions.
 * Every other trace without actions counts as lacking them, even if none of the requested types will follow.
 */
function lacksActions({ actions }: JsonObject, rows: readonly JsonObject[], request: CanonicalRequest): boolean {
  if (parameterOf(request, 'include_actions') === undefined || hasSome(actions)) return false;
  const [row, ...others] = rows;
  const description = row?.['description'];
  return others.length > 0 || !isObject(description) || description['type'] !== 'tick_tock';
}

function hasSome(actions: unknown): boolean {
  return Array.isArray(actions) && actions.length > 0;
}

const tracesIn = ({ traces: list }: JsonObject): readonly unknown[] => (Array.isArray(list) ? list : []);
const rowsIn = (body: JsonObject) => tracesIn(body).flatMap(transactionsOf);
const completenessOfRows = completenessOfGrowingRows(rowsIn);

/**
 * By the transactions first; of two growing answers with the same transactions, the one with actions is more complete.
 */
function completenessOfTraces(finality: Finality, body: JsonObject, request: CanonicalRequest): AnswerCompleteness {
  const listed = completenessOfRows(finality, body, request);
  const isClassified = tracesIn(body).some((trace) => isObject(trace) && hasSome(trace['actions']));
  return ROWS[finality.rule].answerClass === 'growing' && isClassified ? { ...listed, rank: listed.rank + 1 } : listed;
}

/** The trace of a transaction, of a message, or by its own hash. */
export const traces = operation({
  name: 'traces',
  summary: 'One trace by its hash, or by a transaction or message in it',
  schema,
  // Wallets request a trace when it has left the pending ones: a kept empty list would be a gap between the two.
  finality: finalityOfLists({ traces: finalityOfTraces }, 'notKept'),
  lifetimeRules: () => ['byHashFinal', 'byHashGrowing', 'byHashLive'],
  completeness: completenessOfTraces,
  retention: WHILE_REPLICAS_LAG,
  chainPoint: pointOfRows(rowsIn),
  tags: (request) => tagsOfParameters(request, { tx_hash: 'hash', trace_id: 'hash', msg_hash: 'hash' }),
  cheapQuery: [['tx_hash', NO_HASH]],
});
