import { LRUCache } from 'lru-cache';
import { unsliced } from '../../sliced-strings.ts';

/**
 * One member of the list, without the blanks around it: a coding, `identity` or `*`, and its weight (RFC 9110 12.4.2).
 * Nothing in it matches blanks in two ways, so that its time grows with the length of a member and not with the square.
 */
const MEMBER = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/i;

/** Clients send the same few values. A longer one is parsed each time. */
const MOST_REMEMBERED = 100;
const LONGEST_REMEMBERED = 200;

const remembered = new LRUCache<string, boolean>({ max: MOST_REMEMBERED });

/**
 * Whether a client gets gzip by its `Accept-Encoding` (RFC 9110 12.5.3): accepts it, and does not prefer `identity`, which
 * ranks below gzip unless it or `*` is named. Malformed members are ignored; of a coding that is named twice the greater
 * weight counts.
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined || acceptEncoding === '') return false;
  const known = remembered.get(acceptEncoding);
  if (known !== undefined) return known;
  const accepts = parse(acceptEncoding);
  if (acceptEncoding.length <= LONGEST_REMEMBERED) remembered.set(unsliced(acceptEncoding), accepts);
  return accepts;
}

function parse(acceptEncoding: string): boolean {
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
  const weight = weights.get('gzip') ?? others ?? 0;
  return weight > 0 && weight >= (weights.get('identity') ?? others ?? 0);
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
