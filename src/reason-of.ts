/** An OpenSSL error, with the number of its thread before it and the place in its source after it. */
const OF_OPENSSL = /^[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/s;

/**
 * The end of the description of a problem: of its sentence (addresses and versions contain dots, too), or the place
 * where Redis and Node begin to give advice.
 */
const SENTENCE_END = /[.!?](?= [A-Z]| script: )|(?=, otherwise the HELLO|; if the root CA)/;

/** The length to which a text without an end is cut. */
const MOST_CHARACTERS = 160;

/**
 * The first sentence, at most 160 characters of it: Redis adds three more with advice, and the script in which a
 * command failed.
 */
export function firstSentence(text: string): string {
  const end = SENTENCE_END.exec(text);
  const sentence = end === null ? text : text.slice(0, end.index + end[0].length);
  return sentence.length <= MOST_CHARACTERS ? sentence : `${sentence.slice(0, MOST_CHARACTERS - 1)}…`;
}

/**
 * The first sentence of the message of the innermost cause of an error, which is the most precise: undici and Node wrap
 * the system's error. `undefined` without a message.
 */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return reasonOf(inner) ?? (firstSentence(error.message.replace(OF_OPENSSL, 'TLS: $1')) || undefined);
}
