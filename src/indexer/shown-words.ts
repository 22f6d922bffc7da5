import { constants, gunzipSync } from 'node:zlib';

/** This much of a body is read, and this much of its words is shown. */
const [READ_BYTES, SHOWN_CHARACTERS] = [4096, 100];

/** Long enough for a key, an account or a hash. */
const LONG_PARTS = /[\p{L}\p{N}_+/=-]{24,}/gu;

/**
 * Characters that a terminal or a page would not show unchanged: control characters, and those that change the
 * direction.
 */
const UNSHOWN = /[\p{C}\p{Z}\s]+/gu;

/**
 * The words of an error answer, as operators may see them: its `error`, `message`, `detail` or `result` if it is JSON, otherwise
 * its first characters, at most 100, without secrets. `undefined` without words. Never throws.
 */
export function shownWords(body: Buffer, encoding: string | undefined, secrets: readonly string[]): string | undefined {
  const text = unpacked(body.subarray(0, READ_BYTES), encoding);
  const cleaned = withoutSecrets(messageIn(text) ?? text, secrets)
    .replace(UNSHOWN, ' ')
    .replace(LONG_PARTS, '…')
    .trim();
  return [...cleaned].slice(0, SHOWN_CHARACTERS).join('') || undefined;
}

/** A text in which each of our secrets is `***`. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((words, secret) => words.replaceAll(secret, '***'), text);
}

/** The text of the received part of a body; empty for an encoding other than gzip. */
function unpacked(body: Buffer, encoding: string | undefined): string {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return body.toString();
  try {
    return name === 'gzip'
      ? gunzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 16 * READ_BYTES }).toString()
      : '';
  } catch {
    return '';
  }
}

function messageIn(text: string): string | undefined {
  try {
    const { error, message, detail, result } = JSON.parse(text);
    return [error?.message, error, message, detail, result].find((words) => typeof words === 'string' && words !== '');
  } catch {
    return undefined;
  }
}
