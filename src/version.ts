import { readFileSync } from 'node:fs';

/** The version of toncache, from its package.json, which is next to `src` and next to `dist`. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** The `User-Agent` of every request that toncache sends. */
export const USER_AGENT = `toncache/${VERSION}`;
