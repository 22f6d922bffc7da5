import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects all garbage now, so that the size of the heap is that of what is kept. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
}

/** The bytes of the heap that are in use once all garbage is collected. */
export function usedHeapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
