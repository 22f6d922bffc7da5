import type { Answered, Asker } from './asker.ts';
import { errorBodyProblems, type RowsIn } from './bodies.ts';
import { keptSeconds } from './cache-headers.ts';
import type { FindingReport } from './report.ts';

/** The context of every check. */
export interface Run {
  readonly toncache: Asker;
  readonly indexer: Asker;
  readonly report: FindingReport;
  /** Toncache's answers, to be compared with the indexer's own after a time for changes. */
  readonly given: Answered[];
  /** Requests to the indexer a second. */
  readonly rate: number;
  /** The number of requested blocks, transactions and accounts. */
  readonly samples: number;
}

/** One request, with the conditions for its answer. */
export interface Examination {
  readonly check: string;
  readonly rowsIn: RowsIn;
  /** In a spelling that the indexer accepts too. */
  readonly target: string;
  readonly statuses: readonly number[];
  /** Further checks of an answer with one of these statuses. */
  readonly problemsOf: (answered: Answered, rowCount: number) => readonly string[];
}

/** Sends a request to toncache, inspects the answer, reports it, and remembers it. */
export async function examine(run: Run, question: Examination): Promise<Answered> {
  const { check, rowsIn, target, statuses, problemsOf } = question;
  const answered = await run.toncache.ask(target);
  const excuse = await excuseFor(run, answered, statuses);
  if (excuse !== undefined) {
    run.report.notAsked(check, target, excuse);
    return answered;
  }
  const { problems, detail, rowCount } = inspect(rowsIn, answered, statuses);
  const more = statuses.includes(answered.status) ? problemsOf(answered, rowCount) : [];
  run.report.add({ check, asked: target, problems: [...problems, ...more], detail });
  run.given.push(answered);
  return answered;
}

/** The problems in status, headers and form of an answer to an operation, and its contents in a few words. */
export function inspect(rowsIn: RowsIn, answer: Answered, statuses: readonly number[]) {
  const { status, headers, body, bytes } = answer;
  if (!statuses.includes(status)) {
    const problems = [`status ${status}, expected ${statuses.join(' or ')}`, bytes.toString('utf8', 0, 200)];
    return { problems, detail: headers.get('cache-status') ?? '', rowCount: 0 };
  }
  if (status !== 200) {
    return { problems: [...errorBodyProblems(body), ...unkeepable(answer)], detail: `${status}`, rowCount: 0 };
  }
  const { name, rows, problems } = rowsIn(body);
  const [kept = 'not for clients to keep'] = unkeepable(answer);
  return { problems, detail: `${name}: ${rows.length}, ${kept}`, rowCount: rows.length };
}

/** A problem if clients may keep the answer. */
export function unkeepable({ headers }: Answered): readonly string[] {
  const seconds = keptSeconds(headers);
  return seconds > 0 ? [`clients may keep it for ${seconds} s`] : [];
}

/** Why an unexpected status is not toncache's fault: the indexer itself answers with an unexpected one. */
export async function excuseFor(
  { indexer }: Run,
  { target, status }: Answered,
  statuses: readonly number[],
): Promise<string | undefined> {
  if (statuses.includes(status)) return undefined;
  const direct = await indexer.ask(target);
  return statuses.includes(direct.status) ? undefined : `the indexer itself answers with status ${direct.status}`;
}
