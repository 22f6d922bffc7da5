/** The maximum number of letters in which a name may differ from the intended one. */
const MOST_DIFFERENT = 2;

/** The known name that was probably intended; `undefined` if none is near enough. */
export function nearestTo(name: string, known: Iterable<string>): string | undefined {
  const [nearest] = [...known]
    .map((each) => ({ each, letters: difference(name, each) }))
    .filter(({ letters }) => letters <= MOST_DIFFERENT)
    .sort((a, b) => a.letters - b.letters);
  return nearest?.each;
}

/** The end of a sentence about a wrong name: the name that was probably intended, if there is one. */
export function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : `: did you mean ${nearest}?`;
}

/** The number of letters to add, remove or change to turn one text into the other (Levenshtein). */
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
