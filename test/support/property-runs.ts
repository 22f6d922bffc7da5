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
