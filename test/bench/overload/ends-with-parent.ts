/** Arguments of Node for every process that the bench starts. */
export const ENDS_WITH_PARENT: readonly string[] = ['--import', new URL('./end-with-parent.ts', import.meta.url).href];
