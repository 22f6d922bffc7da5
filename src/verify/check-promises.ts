import type { Answer, Answered } from './asker.ts';
import { promiseOf } from './cache-headers.ts';
import type { Run } from './run.ts';
import { hasOnlyGrown, isUnchanged } from './settled-part.ts';

/** What was judged final has not changed, and what was judged growing has lost nothing: by the indexer's own words. */
export async function checkPromises({ indexer, given, report }: Run): Promise<void> {
  for (const before of given) {
    const promise = promiseOf(before.headers);
    if (before.status !== 200 || promise === 'none') continue;
    const after = await indexer.ask(before.target);
    const isJudgeable = after.status === 200 || after.status === 404;
    const isKept = (promise === 'final' ? isUnchanged : hasOnlyGrown)(before.body, after.body);
    report.add({
      check: promise === 'final' ? 'final is final' : 'growing only grows',
      asked: before.target,
      problems: isKept || !isJudgeable ? [] : [`was ${excerpt(before)}, is ${excerpt(after)} (status ${after.status})`],
      detail: isJudgeable ? sameness(before, after) : `the indexer answers with status ${after.status}`,
      unclear: !isJudgeable,
    });
  }
}

function sameness(before: Answer, after: Answered): string {
  if (before.bytes.equals(after.bytes)) return 'byte for byte';
  return isUnchanged(before.body, after.body) ? 'same rows' : 'other rows';
}

/** Enough to see which answer it was; the whole can be asked for again. */
function excerpt({ bytes }: Answer): string {
  return `${bytes.length} bytes ${bytes.toString('utf8', 0, 80)}…`;
}
