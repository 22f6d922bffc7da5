import { FAILURES } from '../failures/codes.ts';
import { filled } from '../failures/sentence.ts';
import { isObject } from '../json-object.ts';
import type { OperationName } from './operation-names.ts';
import { OPERATIONS } from './operations.ts';

/** The indexer's API says so when it was started without `-redis`, as toncenter's own compose file does it. */
const WITHOUT_REDIS = 'emulatedTracesRepository is not initialized';

/** The indexer's API says so of a path that it does not have, by the name of the path. */
const NO_SUCH_PATH = 'internal server error: Cannot GET ';

/**
 * Whether a 500 says that the indexer does not serve the operation at all, by its parsed body: its API says that by texts
 * alone (indexer 1.2 and 1.3).
 */
export function saysNotServed(operation: OperationName, body: unknown): boolean {
  const error = isObject(body) ? body['error'] : undefined;
  if (typeof error !== 'string') return false;
  if (error.includes(WITHOUT_REDIS)) return true;
  const [path = ''] = error.slice(NO_SUCH_PATH.length).split('?');
  return error.startsWith(NO_SUCH_PATH) && path.endsWith(`/${operation}`);
}

const NO_INDEXER = 'is UPSTREAM_URL the address of an indexer?';

/** What is filled into the text about an operation that the indexer does not serve: the operation, and what to do. */
export function notServed(operation: OperationName): { readonly operation: string; readonly remedy: string } {
  return { operation, remedy: OPERATIONS.get(operation)?.remedy ?? NO_INDEXER };
}

/** What clients and operators read about an operation that the indexer does not serve. */
export function notServedText(operation: OperationName): string {
  return filled(FAILURES['not-served'].clientReads.usual, notServed(operation));
}
