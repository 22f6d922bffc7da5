import { LRUCache } from 'lru-cache';
import { type Accepted, type Coding, ENCODINGS, IDENTITY_ONLY } from '../../content-codings.ts';
import { ownedText } from '../../owned-text.ts';

/**
 * One member of the list, without the blanks around it: a coding, `identity` or `*`, and its weight (RFC 9110 12.4.2).
 * Nothing in it matches blanks in two ways, so that its time grows with the length of a member and not with the square.
 */
const MEMBER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/i;

/** Clients send the same few values. A longer one is parsed each time. */
const MOST_REMEMBERED = 100;
const LONGEST_REMEMBERED = 200;

const remembered = new LRUCache<string, Accepted>({ max: MOST_REMEMBERED });

/**
 * What a client accepts by its `Accept-Encoding` (RFC 9110 12.5.3). Malformed members are ignored; of a coding that is
 * named twice the greater weight counts. `identity` ranks below all named codings, unless it or `*` is named.
 */
export function acceptedCodings(acceptEncoding: string | undefined): Accepted {
  if (acceptEncoding === undefined || acceptEncoding === '') return IDENTITY_ONLY;
  const known = remembered.get(acceptEncoding);
  if (known !== undefined) return known;
  const accepted = parse(acceptEncoding);
  if (acceptEncoding.length <= LONGEST_REMEMBERED) remembered.set(ownedText(acceptEncoding), accepted);
  return accepted;
}

function parse(acceptEncoding: string): Accepted {
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.split(',')) {
    const [, given, weight = '1'] = MEMBER.exec(withoutBlanks(member)) ?? [];
    if (given === undefined) continue;
    const lowered = given.toLowerCase();
    // RFC 9110 8.4.1.3: `x-gzip` means gzip.
    const name = lowered === 'x-gzip' ? 'gzip' : lowered;
    weights.set(name, Math.max(weights.get(name) ?? 0, Number(weight)));
  }
  const others = weights.get('*');
  const byWeight = new Map<number, Coding[]>();
  for (const coding of [...ENCODINGS, 'identity'] as const) {
    // Without `*` a coding that is not named is not accepted, except for `identity`.
    const weight = weights.get(coding) ?? others ?? (coding === 'identity' ? Number.MIN_VALUE : 0);
    if (weight > 0) byWeight.set(weight, [...(byWeight.get(weight) ?? []), coding]);
  }
  const accepted = [...byWeight].toSorted(([one], [other]) => other - one).map(([, codings]) => codings);
  const isIdentityFirst = accepted[0] === undefined || accepted[0].join() === 'identity';
  return isIdentityFirst ? IDENTITY_ONLY : accepted;
}

/** Without the blanks of RFC 9110 5.6.3 around it. `trim` also removes others, such as A0, which make a member malformed. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
