import { duration, type MonotonicMs, type Ms } from '../time-units.ts';
import { CONDITIONS, type ConditionRow } from './conditions.ts';
import type { Episode } from './episode.ts';
import { inflected, ofIndexers } from './plural.ts';
import { withReason } from './present-conditions.ts';

/** An error of the system: its code says all, and its address is in the settings. */
const OF_SYSTEM = /^(?:accept|connect|getaddrinfo|read|write) (E[A-Z0-9_]+)\b.*$/s;

/** The longest words of the other side, and the most words after `FAILING for 16 s:`, which are four. */
const [MOST_CHARACTERS, MOST_WORDS] = [40, 16];

/** A reason in a few words: without an address and without JSON, the first words of the other side. */
function shortReason(why: string): string {
  const [, status = '', words = '', asks = ''] =
    /^(?:(\d{3})(?:: |$))?(.*?)(?:(?:; |^)asks for (.*))?$/s.exec(why) ?? [];
  const plain = words
    .replace(OF_SYSTEM, '$1')
    .replace(/<[^>]*>?/g, ' ')
    .trim();
  const isCode = /^[[{]/.test(plain);
  const cut = plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS - 1)}…` : plain;
  const said = [status, isCode ? '' : cut].filter((part) => part !== '').join(': ');
  return [said, asks && `retry in ${asks}`].filter((part) => part !== '').join(', ');
}

/** `both indexers`. `all`: the number of all indexers. */
function subjectOf(indexers: readonly string[], all: number): string {
  const count = indexers.length;
  if (all === 1) return 'the indexer';
  if (count === 0) return 'an indexer';
  if (count === all) return count === 2 ? 'both indexers' : `all ${count} indexers`;
  return count <= 2 ? indexers.join(' and ') : `${count} of ${all} indexers`;
}

/** What caused an episode: `both indexers were unreachable (ECONNREFUSED)`, in the past if that is not true any more. */
export function causeOf(
  { cause, indexers, operations, isTrue }: Pick<Episode, 'cause' | 'indexers' | 'operations' | 'isTrue'>,
  all: number,
): string {
  const { says, short = says }: ConditionRow = CONDITIONS[cause.name];
  const values: Readonly<Record<string, string>> = {
    who: subjectOf(indexers, all),
    operation: operations > 1 ? `${operations} operations` : (cause.operation ?? ''),
    why: (indexers.length === 0 ? ofIndexers(cause.why, all) : cause.why).replace(
      /\((.*)\)/s,
      (_, words: string) => `(${shortReason(words)})`,
    ),
  };
  const filled = short.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  const sentence = short.includes('{why}') ? filled : withReason(filled, shortReason(cause.why));
  const areSeveral = (short.startsWith('{who}') && indexers.length > 1) || sentence.startsWith('the indexers ');
  return inflected(sentence, !isTrue, areSeveral);
}

/** The state of an episode in at most 20 words: `50 % of requests fail. Both indexers are unreachable (ECONNREFUSED).` */
export function sentencesOf(episode: Episode, all: number): string {
  const { effect, indexers } = episode;
  const cause = causeOf(episode, all);
  const alone = `${cause}.`;
  if (effect === '') return cut(alone);
  const isName = /^\S+[.:]/.test(cause) || indexers.some((name) => cause.startsWith(`${name} `));
  const sentence = isName ? alone : alone.charAt(0).toUpperCase() + alone.slice(1);
  // In shorter words, or without: the cause says what to do, and the flow also shows the effect.
  const shown = [effect, effect.replace('of requests ', '')].map((each) => `${each}. ${sentence}`);
  return shown.find((each) => each.split(' ').length <= MOST_WORDS) ?? cut(alone);
}

function cut(sentence: string): string {
  const words = sentence.split(' ');
  return words.length <= MOST_WORDS ? sentence : `${words.slice(0, MOST_WORDS).join(' ')}…`;
}

/** `16 s`, at least a second. */
export const ageOf = (ms: Ms): string => duration(1000 * Math.max(1, Math.round(ms / 1000)));

/** The first line for operators: the level, since when, how bad it is, and one cause. */
export function firstLine(first: Episode | undefined, all: number, now: MonotonicMs): string {
  if (first === undefined) return 'OK: serving as usual';
  return `${first.level.toUpperCase()} for ${ageOf(now - first.since)}: ${sentencesOf(first, all)}`;
}
