import type { OperationName } from '../../ton/operations.ts';
import type { Answered, Asker, HttpAnswer } from './asker.ts';
import { isErrorBody, listIn } from './bodies.ts';
import { cacheHeaders } from './cache-headers.ts';
import type { FindingReport } from './report.ts';

/** What every check works with. */
export interface Run {
  readonly toncache: Asker;
  readonly indexer: Asker;
  readonly report: FindingReport;
  /** Toncache's answers, to be compared with the indexer's own when it has had time to change them. */
  readonly given: HttpAnswer[];
}

/** What is wrong with one answer of toncache, and what it holds, in a few words. */
export interface Inspection {
  readonly problems: readonly string[];
  readonly detail: string;
  readonly rowCount: number;
}

/** One request, and what its answer must be. */
export interface Examination {
  readonly check: string;
  readonly operation: OperationName;
  /** In a spelling that the indexer accepts too. */
  readonly target: string;
  readonly statuses: readonly number[];
  /** Further checks of an answer with one of these statuses. */
  readonly problemsOf?: (answered: Answered, rowCount: number) => readonly string[];
}

/** Asks toncache, inspects the answer, reports it, and remembers it. */
export async function examine(run: Run, question: Examination): Promise<Answered> {
  const { check, operation, target, statuses, problemsOf } = question;
  const answered = await run.toncache.ask(target);
  const excuse = await excuseFor(run, answered, statuses);
  if (excuse !== undefined) {
    run.report.notAsked(check, target, excuse);
    return answered;
  }
  const { problems, detail, rowCount } = inspect(operation, answered, statuses);
  const more = statuses.includes(answered.status) ? (problemsOf?.(answered, rowCount) ?? []) : [];
  run.report.add({ check, asked: target, problems: [...problems, ...more], detail });
  run.given.push(answered);
  return answered;
}

/** Inspects status, headers and shape of an answer to an operation. */
export function inspect(operation: OperationName, answer: HttpAnswer, statuses: readonly number[]): Inspection {
  const { status, headers, body } = answer;
  const { status: cacheStatus, keptSeconds } = cacheHeaders(headers);
  if (!statuses.includes(status)) {
    const said = answer.bytes.toString('utf8', 0, 200);
    return {
      problems: [`status ${status}, expected ${statuses.join(' or ')}`, said],
      detail: cacheStatus,
      rowCount: 0,
    };
  }
  if (status !== 200) {
    const problems = isErrorBody(body) ? [] : ['the body is not {"error":"..."}'];
    return { problems: [...problems, ...unkeepable(answer)], detail: `${status}`, rowCount: 0 };
  }
  const { name, rows, problems } = listIn(operation, body);
  const kept = keptSeconds === 0 ? 'not for clients to keep' : `clients may keep it for ${keptSeconds} s`;
  return { problems, detail: `${name}: ${rows.length}, ${kept}`, rowCount: rows.length };
}

/** A problem if clients may keep the answer. */
export function unkeepable({ headers }: HttpAnswer): readonly string[] {
  const { keptSeconds } = cacheHeaders(headers);
  return keptSeconds > 0 ? [`clients may keep it for ${keptSeconds} s`] : [];
}

/**
 * Why an unexpected status is not toncache's fault: the indexer itself answers with an unexpected one. `undefined` if
 * it does not.
 */
export async function excuseFor(
  { indexer }: Run,
  { target, status }: HttpAnswer,
  statuses: readonly number[],
): Promise<string | undefined> {
  if (statuses.includes(status)) return undefined;
  const direct = await indexer.ask(target);
  return statuses.includes(direct.status) ? undefined : `the indexer itself answers with status ${direct.status}`;
}
