import { markdownTable } from '../support/report.ts';
import type { Run } from './run-scenario.ts';
import { capacityOf } from './scenarios.ts';

const percent = (share: number) => (Number.isNaN(share) ? '' : `${(100 * share).toFixed(0)} %`);

/** The columns: the results of clients during the load, and how soon every request was answered after it. */
const COLUMNS: Readonly<Record<string, (run: Run) => string>> = {
  'mode, load': ({ mode, scenario }) => `${mode}, ${scenario.name}`,
  requests: ({ load }) => `${load.requests}`,
  answered: ({ load }) => `${load.requests - load.failed}`,
  'of the capacity': ({ load, polite, scenario }) => {
    const atIndexer = load.rightByIndexer + (polite?.rightByIndexer ?? 0);
    // A request that a client gave up is not counted, though it was sent.
    return scenario.leavesAfterMs === undefined ? percent(atIndexer / load.seconds / capacityOf(scenario)) : '';
  },
  'but pendingTraces': ({ load }) => percent(load.othersShare),
  refused: ({ load }) => `${load.refusals}`,
  left: ({ load }) => `${load.left}`,
  'miss p50 ms': ({ load }) => load.missP50Ms,
  'miss p99 ms': ({ load }) => load.missP99Ms,
  'hit p99 ms': ({ load }) => load.hitP99Ms,
  'refused p99 ms': ({ load }) => load.refusedP99Ms,
  'whole after s': ({ after }) =>
    after.wholeAfterMs === undefined ? `> ${after.seconds - 1}` : (after.wholeAfterMs / 1000).toFixed(1),
  errors: ({ load }) =>
    Object.entries(load.errors)
      .map(([error, count]) => `${count} ${error}`)
      .join(', '),
  'polite answered': ({ polite }) => percent(polite === undefined ? Number.NaN : 1 - polite.failed / polite.requests),
  'polite p50 ms': ({ polite }) => polite?.missP50Ms ?? '',
  'polite p99 ms': ({ polite }) => polite?.missP99Ms ?? '',
  // A high value means that the generator lacked a processor, and so did the processes that it measures.
  'late p99 ms': ({ load }) => load.generatorP99Ms,
};

export function tableOf(runs: readonly Run[]): string {
  const columns = Object.values(COLUMNS);
  return markdownTable(
    Object.keys(COLUMNS),
    runs.map((run) => columns.map((column) => column(run))),
  );
}
