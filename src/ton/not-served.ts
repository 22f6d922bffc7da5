import { isObject } from '../json-object.ts';
import type { OperationName } from './operation-names.ts';
import { OPERATIONS } from './operations.ts';

/** The error of the indexer's API when it was started without `-redis`, as in toncenter's own compose file. */
const WITHOUT_REDIS = 'emulatedTracesRepository is not initialized';

/** The error of the indexer's API when it was started without `-v2-endpoint`. */
const WITHOUT_ENDPOINT = 'ton-http-api endpoint is not specified';

/** The error of the indexer's API for a path that it does not have, followed by the path. */
const NO_SUCH_PATH = 'internal server error: Cannot GET ';

/**
 * True if a parsed 500 reports that the indexer does not serve the operation at all: its API reports this only by texts
 * (indexer 1.2 and 1.3).
 */
export function saysNotServed(operation: OperationName, body: unknown): boolean {
  const error = isObject(body) ? body['error'] : undefined;
  if (typeof error !== 'string') return false;
  if (error.includes(WITHOUT_REDIS) || error.includes(WITHOUT_ENDPOINT)) return true;
  const [path = ''] = error.slice(NO_SUCH_PATH.length).split('?');
  return error.startsWith(NO_SUCH_PATH) && path.endsWith(`/${operation}`);
}

const NO_INDEXER = 'is UPSTREAM_URL the address of an indexer?';

/** The values for the text about an operation that the indexer does not serve: the operation, and the remedy. */
export function notServed(operation: OperationName): { readonly operation: string; readonly remedy: string } {
  return { operation, remedy: OPERATIONS.get(operation)?.remedy ?? NO_INDEXER };
}
