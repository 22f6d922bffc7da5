import { isObject, type JsonObject } from '../json-object.ts';
import { type Finality, newestNowOf } from './finality.ts';
import type { GrowingRule, LifetimeRule } from './lifetime-table.ts';

/**
 * The finality of an answer that consists of final transactions. The indexer commits the state of an account after a
 * transaction, and takes the state before it from an earlier block. Blocks can be committed out of order, so a young
 * row may lack this state and get it later. Other rows lack it for ever: nothing in the body tells the two apart.
 */
export function finalityOfFinalRows<Rule extends LifetimeRule, Young extends GrowingRule>(
  rows: readonly JsonObject[],
  rule: Rule,
  whileYoung: Young,
): Finality<Rule | Young> {
  const lacking = rows.filter(lacksStateBefore).map(({ now }) => now);
  if (lacking.length === 0) return { rule };
  return { rule, whileYoung, ...newestNowOf(lacking) };
}

/** True if `account_state_before` contains only its hash. */
export function lacksStateBefore({ account_state_before: state }: JsonObject): boolean {
  return isObject(state) && Object.entries(state).every(([name, value]) => name === 'hash' || value === null);
}
