import type { IndexerWords } from '../indexer/upstream-client.ts';
import { duration } from '../time-units.ts';

/**
 * The words of an indexer's error: `429: daily limit reached; asks for 12 h`. `undefined` if there is only the status.
 */
export function sayingOf(status: number, says: IndexerWords | undefined): string | undefined {
  const { words, retryAfterMs = 0 } = says ?? {};
  const time = retryAfterMs > 0 ? `asks for ${duration(retryAfterMs)}` : undefined;
  const said = [words, time].filter((part) => part !== undefined).join('; ');
  return said === '' ? undefined : `${status}: ${said}`;
}
