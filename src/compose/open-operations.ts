import { ALL, mustBeNamed } from '../config/operations-setting.ts';
import { namedPaths } from '../config/passed-paths.ts';
import { openPaths } from '../http/pass-through/open-paths.ts';
import { OPERATION_NAMES } from '../ton/operation-names.ts';
import { OperationsInUse } from '../ton/operations.ts';
import type { AppContext } from './context.ts';

/**
 * The operations in use. Where only listed paths are passed through, `all` does not open an operation that is dear to a
 * provider, unless the list names it.
 */
export function openOperations({
  operations = [],
  passThrough: { enabled },
}: Pick<AppContext['settings'], 'operations' | 'passThrough'>) {
  if (!operations.includes(ALL)) return new OperationsInUse(operations);
  const isPassed = Array.isArray(enabled) ? openPaths(namedPaths(enabled)) : () => true;
  const more = OPERATION_NAMES.filter((name) => mustBeNamed(name) && isPassed(`/api/v3/${name}`));
  return new OperationsInUse([...operations, ...more]);
}
