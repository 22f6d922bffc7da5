import { type Pairs, pairs } from './canonical-request.ts';

/**
 * The action types in a request, in the form that is sent. One word means the same in the header and in the query, and
 * is sent in the header. Several words, and a word that a header cannot carry unchanged (empty, outer spaces, a comma),
 * are sent in the query.
 */
export function actionsInput(
  version: string | undefined,
  types: readonly string[],
): { readonly header: Pairs; readonly query: Pairs } {
  const words = version === undefined ? types : [version];
  const [word = '', ...others] = words;
  if (others.length === 0 && word !== '' && word === word.trim() && !word.includes(',')) {
    return { header: [['X-Actions-Version', word]], query: [] };
  }
  return { header: [], query: pairs({ supported_action_types: words }) };
}
