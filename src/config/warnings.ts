import { isLoopback } from '../loopback.ts';
import type { Settings } from './schema.ts';
import type { Environment, Sourced } from './setting-source.ts';

/** Names shorter than this are too often near to those of other programs: HOME is near to HOST. */
const SHORTEST_CHECKED = 8;

/** The most letters in which a name may differ from the one that was probably meant. */
const MOST_DIFFERENT = 2;

/** What an operator should know of settings that are right. `known`: every variable that is read. */
export function warningsOf(
  { settings, sources }: { readonly settings: Settings; readonly sources: readonly Sourced[] },
  environment: Environment,
  known: readonly string[],
): string[] {
  const { redis, http } = settings;
  const warnings = misspelt(environment, known).map(([name, nearest]) => `${name} is not read: is ${nearest} meant?`);
  const isAssumed = sources.some(({ name, from }) => name === 'network' && from === 'default');
  if (isAssumed && redis.url !== undefined) {
    warnings.push(
      'NETWORK is not set and "mainnet" is assumed: instances of another chain must not share keys with it',
    );
  }
  if (http.adminToken === undefined && !isLoopback(http.adminHost)) {
    warnings.push('ADMIN_TOKEN is not set and the admin port is not on loopback: purges and explanations are refused');
  }
  return warnings;
}

/** Variables that are not read, each with the one that is nearest to it. */
function misspelt(environment: Environment, known: readonly string[]): [string, string][] {
  const unknown = Object.keys(environment).filter((name) => name.length >= SHORTEST_CHECKED && !known.includes(name));
  return unknown.flatMap((name): [string, string][] => {
    const [nearest] = known
      .map((each) => ({ each, letters: difference(name, each) }))
      .filter(({ letters }) => letters <= MOST_DIFFERENT)
      .sort((a, b) => a.letters - b.letters);
    return nearest === undefined ? [] : [[name, nearest.each]];
  });
}

/** How many letters have to be added, left out or changed to make one text of the other (Levenshtein). */
function difference(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1];
    for (let column = 0; column < b.length; column++) {
      const [corner = 0, above = 0, left = 0] = [row[column], row[column + 1], next[column]];
      next.push(Math.min(above + 1, left + 1, corner + (letter === b[column] ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
