import type { Answered } from './asker.ts';
import { hasOnlyGrown, isUnchanged } from './bodies.ts';
import { promiseOf } from './cache-headers.ts';
import type { Run } from './examine.ts';

/**
 * Checks with the indexer's own answers that final answers have not changed, and that growing ones have lost no row.
 */
export async function checkPromises({ indexer, given, report }: Run): Promise<void> {
  for (const before of given) {
    const promise = promiseOf(before.headers);
    if (before.status !== 200 || promise === 'none') continue;
    const check = promise === 'final' ? 'final is final' : 'growing only grows';
    const after = await indexer.ask(before.target);
    if (after.status !== 200 && after.status !== 404) {
      report.notAsked(check, before.target, `the indexer answers with status ${after.status}`);
      continue;
    }
    const isSame = isUnchanged(before.body, after.body);
    const isKept = isSame || (promise === 'growing' && hasOnlyGrown(before.body, after.body));
    const problems = isKept ? [] : [`was ${excerpt(before)}, is ${excerpt(after)} (status ${after.status})`];
    const rows = isSame ? 'same rows' : 'other rows';
    const detail = before.bytes.equals(after.bytes) ? 'byte for byte' : rows;
    report.add({ check, asked: before.target, problems, detail });
  }
}

/** The beginning of an answer, enough to recognize it. */
function excerpt({ bytes }: Answered): string {
  return `${bytes.length} bytes ${bytes.toString('utf8', 0, 80)}…`;
}
