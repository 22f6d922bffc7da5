let runsEveryCase = false;

/**
 * From here on properties run their full number of cases. `test/unit/properties.slow.test.ts` calls it before it loads
 * them.
 */
export function runEveryCase(): void {
  runsEveryCase = true;
}

/** The number of cases of a slow property: a fifth of it, for the fast suite. */
export function cases(inSlowSuite: number): { readonly numRuns: number } {
  return { numRuns: runsEveryCase ? inSlowSuite : Math.ceil(inSlowSuite / 5) };
}

/**
 * For properties that must fail: it ends at the first failure. Some schedules are rare, one in 800, so that a few thousand
 * of them sometimes have none.
 */
export const UNTIL_FOUND = { numRuns: 30_000, endOnFailure: true };
