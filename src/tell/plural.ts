/** The verbs of our sentences: of several, in the past, and in the past of several if that differs. */
const VERBS: Readonly<Record<string, readonly [several: string, past: string, pastOfSeveral?: string]>> = {
  is: ['are', 'was', 'were'],
  are: ['are', 'were'],
  has: ['have', 'had'],
  does: ['do', 'did'],
  answers: ['answer', 'answered'],
  closes: ['close', 'closed'],
  exceeds: ['exceed', 'exceeded'],
  fails: ['fail', 'failed'],
  follows: ['follow', 'followed'],
  lacks: ['lack', 'lacked'],
  refuses: ['refuse', 'refused'],
  sends: ['send', 'sent'],
  takes: ['take', 'took'],
};

/** The first of them, before the words of the other side. */
const FIRST_VERB = new RegExp(`^([^(]*?\\b)(${Object.keys(VERBS).join('|')})\\b`);

/** Puts a sentence about one indexer into the past, or into words about several, or both. Its subject stays. */
export function inflected(sentence: string, isPast: boolean, areSeveral: boolean): string {
  const itsVerb = sentence.replace(FIRST_VERB, (_, before: string, verb: string) => {
    const [several, past, pastOfSeveral = past] = VERBS[verb] ?? [verb, verb];
    if (isPast) return before + (areSeveral ? pastOfSeveral : past);
    return before + (areSeveral ? several : verb);
  });
  return areSeveral ? inOurWords(itsVerb, /\bits\b/g, 'their') : itsVerb;
}

/**
 * With several indexers, words about "the indexer", whichever it was, are about all: `the indexers take over 2 s`.
 */
export function ofIndexers(words: string, all: number): string {
  if (all === 1) return words;
  const ofAll = inOurWords(words, /\bthe indexer\b/, 'the indexers');
  return ofAll.startsWith('the indexers ') ? inflected(ofAll, false, true) : ofAll;
}

/** Replaces some words of a sentence, but not in brackets: there stand the words of the other side. */
function inOurWords(sentence: string, some: RegExp, others: string): string {
  return sentence.replace(/^[^(]*/, (ours) => ours.replace(some, others));
}
