import { OPERATION_NAMES } from '../../ton/operation-names.ts';
import { OperationsInUse } from '../../ton/operations.ts';
import { pathKey } from './passable-target.ts';

/** All operations, including those not in use. */
const KNOWN = new OperationsInUse(OPERATION_NAMES);

/**
 * Returns whether requests for a path may be passed through, where only these paths below `/api/v3/` may. A path counts
 * in every spelling that {@link pathKey} reads as one, and an operation under each of its names.
 */
export function openPaths(names: readonly string[]): (path: string) => boolean {
  const open = new Set(names.map((name) => meant(`/api/v3/${name}`)));
  return (path) => {
    try {
      return open.has(meant(path));
    } catch {
      // A path that does not decode is not open.
      return false;
    }
  };
}

function meant(path: string): string {
  const key = pathKey('', path).trimStart();
  return KNOWN.at(key)?.name ?? key;
}
