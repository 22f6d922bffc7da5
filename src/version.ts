import { readFileSync } from 'node:fs';

/** The version of toncache, as in its package.json, which lies beside `src` and beside `dist`. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
