import type { Answer, Asker } from './asker.ts';
import type { Report } from './report.ts';

/** What every check works with. */
export interface Run {
  readonly toncache: Asker;
  readonly indexer: Asker;
  readonly report: Report;
  /** Toncache's answers, to be compared with the indexer's own when it has had time to change them. */
  readonly given: Answer[];
}
