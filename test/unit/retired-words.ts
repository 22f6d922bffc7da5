/** Private words that the glossary of `src/README.md` has replaced, as words of a name in lower case. */
const RETIRED: readonly string[] = [
  'before redis',
  'claim',
  'claimant',
  'claimed',
  'followable',
  'house',
  'joinable',
  'judge',
  'judged',
  'judgement',
  'least keys',
  'poorer',
  'rested',
  'richer',
  'richness',
  'round',
  'sure of',
  'tell',
  'told',
];

/** The retired word in a name (`camelCase`, `CONSTANT_CASE` or a path), or `undefined`. `round trip` is a term of networks. */
export function retiredWordIn(name: string): string | undefined {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  // `rest` by itself is the language's word for the remaining elements.
  if (words.length > 1 && words.includes('rest')) return 'rest';
  const text = ` ${words.join(' ')} `.replaceAll(' round trip ', ' ');
  return RETIRED.find((word) => text.includes(` ${word} `) || text.includes(` ${word}s `));
}
