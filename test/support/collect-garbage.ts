import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects all garbage now, so that the size of the heap is that of kept objects. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
}

/** The used bytes of the heap after a collection of all garbage. */
export function usedHeapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
