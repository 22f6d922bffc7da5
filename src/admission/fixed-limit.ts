import type { Limit } from './admission-gate.ts';

/** A limit that learns nothing. */
export function fixedLimit(limit: number): Limit {
  return { limit, onAnswer: () => {}, onFailure: () => {}, onHeard: () => {} };
}
