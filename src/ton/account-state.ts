import { z } from 'zod';
import type { JsonObject } from '../json-object.ts';
import { type CanonicalRequest, type Pairs, pairs, parameterOf } from './canonical-request.ts';
import { NO_POINT } from './chain-point.ts';
import { type AnswerCompleteness, completenessByClass } from './completeness.ts';
import type { Evidence } from './evidence.ts';
import type { Finality } from './finality.ts';
import { WHILE_REPLICAS_LAG } from './lifetime.ts';
import { readLt } from './lt.ts';
import type { OperationRules } from './operation.ts';
import { notCached, onlyAccount, onlyFalse } from './parameters.ts';
import { tagsOfParameters } from './tags.ts';

/**
 * Always sent. The body contains neither names nor metadata, but the indexer reads both, and fails if it cannot. With
 * these headers it does not read them, and the body is byte for byte the same.
 */
const WITHOUT_NAMES: Pairs = [
  ['X-No-Address-Book', 'true'],
  ['X-No-Metadata', 'true'],
];

/** With `use_v2=true` the indexer asks another service, whose answers differ. */
const schema = z.object({ address: onlyAccount, use_v2: onlyFalse }).transform(({ address }, ctx): CanonicalRequest => {
  if (address === undefined) return notCached(ctx, 'accepted: one address');
  return { query: pairs({ address }), headers: WITHOUT_NAMES };
});

function finalityOfState(body: JsonObject): Finality<'accountLive'> | undefined {
  return typeof body['balance'] === 'string' ? { rule: 'accountLive' } : undefined;
}

/** The state after a later transaction is more complete. The state of an unused account has the logical time 0. */
function completenessOfState(finality: Finality, body: JsonObject): AnswerCompleteness {
  return { ...completenessByClass(finality), order: lastLtIn(body) };
}

function evidenceOfState(request: CanonicalRequest, body: JsonObject): Evidence | undefined {
  const lastLt = lastLtIn(body);
  if (lastLt === undefined) return undefined;
  return { kind: 'state', accounts: [parameterOf(request, 'address') ?? ''], hasClaims: false, lastLt };
}

function lastLtIn(body: JsonObject): bigint | undefined {
  return readLt(body['last_transaction_lt']);
}

/** The common part of the operations that answer with the state of one account. */
export const ACCOUNT_STATE = {
  schema,
  finality: finalityOfState,
  lifetimeRules: () => ['accountLive'],
  completeness: completenessOfState,
  retention: WHILE_REPLICAS_LAG,
  chainPoint: () => NO_POINT,
  tags: (request) => tagsOfParameters(request, { address: 'account' }),
  evidence: evidenceOfState,
  keepsNotFound: false,
  cheapQuery: [['address', `0:${'0'.repeat(64)}`]],
} as const satisfies Omit<OperationRules<string, 'accountLive'>, 'name' | 'summary'>;
