let runsEveryCase = false;

/** From here on properties run as many cases as they name. `test/unit/properties.slow.test.ts` does it before it loads them. */
export function runEveryCase(): void {
  runsEveryCase = true;
}

/** The number of cases of a property that is slow to try: a fifth of it, for the fast suite. */
export function cases(inSlowSuite: number): { readonly numRuns: number } {
  return { numRuns: runsEveryCase ? inSlowSuite : Math.ceil(inSlowSuite / 5) };
}
