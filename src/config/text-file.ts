import { readFileSync } from 'node:fs';

/** The text of a file in UTF-8, without a byte order mark. Throws if it cannot be read; {@link unreadable} has the words. */
export function textOf(path: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
}

/** Why {@link textOf} failed, after the name of the file: neither its path nor its text. */
export function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8';
  return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
}
