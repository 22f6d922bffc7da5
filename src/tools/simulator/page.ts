import type { Question } from './question.ts';
import { IndexerRefusal } from './refusal.ts';

/** A part of a list, by the places in it. */
export interface Page {
  readonly offset: number;
  readonly end: number;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** `limit` and `offset` as the dialect reads them, with its status for a limit that is too large. */
export function askedPage(question: Question): Page {
  const limit = question.integer('limit') ?? DEFAULT_LIMIT;
  const offset = question.integer('offset') ?? 0;
  if (limit > MAX_LIMIT)
    throw new IndexerRefusal(question.traits.limitTooLargeStatus, `limit is not allowed: ${limit} > ${MAX_LIMIT}`);
  return { offset: Math.max(0, offset), end: Math.max(0, offset) + Math.max(1, limit) };
}

/** `sort`, where the dialect reads it: undefined leaves the rows in no order. Throws a {@link IndexerRefusal}. */
export function askedSort(question: Question): 'asc' | 'desc' | undefined {
  const word = question.scalar('sort')?.toLowerCase();
  if (!question.traits.sorts || word === undefined) return undefined;
  if (word === 'asc' || word === 'a') return 'asc';
  if (word === 'desc' || word === 'd') return 'desc';
  // The error itself is a 422, but the indexer turns every error of building the statement into a 500.
  throw new IndexerRefusal(500, 'wrong value for sort parameter');
}
