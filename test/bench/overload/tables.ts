import { markdownTable } from '../markdown-table.ts';
import type { Run } from './run-scenario.ts';
import { nameOf, type ScenarioKind } from './scenarios.ts';

const NONE = '';
const OPERATIONS = ['pendingTraces', 'adjacentTransactions', 'masterchainBlockShards'] as const;
const UNEVEN: ReadonlySet<ScenarioKind> = new Set(['flood', 'failing', 'resets', 'slow', 'hang']);
/** Loads that the indexer could answer: nobody should be refused. */
const ORDINARY: ReadonlySet<ScenarioKind> = new Set(['burst', 'closed-loop', 'pages']);
/** A generator later than this had no processor when it needed one, and neither had those that it measures. */
const TOO_LATE_MS = 50;

/** What clients and the indexer saw while the load lasted. Rates are a second, times in milliseconds. */
export function tableOfRuns(runs: readonly Run[], capacityPerSecond: number): string | undefined {
  return tableUnlessEmpty(
    [
      'mode, load',
      'offered/s',
      'right/s',
      'misses/s',
      'hits/s',
      'of capacity',
      'sheds/s',
      'shed p99',
      'hit p99',
      'miss p99',
      'any p99',
      'left/s',
      'at indexer',
      'whole after s',
      'errors',
    ],
    runs
      .filter(({ scenario }) => !ORDINARY.has(scenario.kind))
      .map(({ mode, scenario, load, after, maxAtIndexer }) => {
        const rate = (count: number) => (count / load.seconds).toFixed(0);
        return [
          `${mode}, ${nameOf(scenario)}`,
          rate(load.requests),
          rate(load.rightMisses + load.rightHits),
          rate(load.rightMisses),
          rate(load.rightHits),
          `${((100 * load.rightByIndexer) / load.seconds / capacityPerSecond).toFixed(0)} %`,
          rate(load.sheds),
          milliseconds(load.shedP99Ms),
          milliseconds(load.hitP99Ms),
          milliseconds(load.missP99Ms),
          milliseconds(load.anyP99Ms),
          rate(load.left),
          `${maxAtIndexer}`,
          after.wholeAfterMs === undefined ? `> ${after.seconds - 1}` : (after.wholeAfterMs / 1000).toFixed(1),
          errorsOf(load.errors),
        ];
      }),
  );
}

/** Of loads that the indexer could answer: how many were not answered. */
export function tableOfOrdinaryLoads(runs: readonly Run[]): string | undefined {
  return tableUnlessEmpty(
    ['mode, load', 'requests', 'answered', 'refused', 'left or failed', 'miss p99 ms', 'at indexer'],
    runs
      .filter(({ scenario }) => ORDINARY.has(scenario.kind))
      .map(({ mode, scenario, load, maxAtIndexer }) => {
        const answered = sumOf(Object.values(load.uniqueBy).map(({ right }) => right));
        return [
          `${mode}, ${nameOf(scenario)}`,
          `${load.requests}`,
          `${answered}`,
          `${load.sheds}`,
          `${load.requests - answered - load.sheds}`,
          milliseconds(load.missP99Ms),
          `${maxAtIndexer}`,
        ];
      }),
  );
}

/** What the polite got beside those who asked for too much. */
export function tableOfPolite(runs: readonly Run[], capacityPerSecond: number): string | undefined {
  return tableUnlessEmpty(
    ['mode, load', 'polite', 'answered', 'of them', 'p99 ms', 'of capacity'],
    runs.flatMap(({ mode, scenario, load, polite }) => {
      if (polite === undefined) return [];
      const right = sumOf(Object.values(polite.uniqueBy).map((share) => share.right));
      const all = (load.rightByIndexer + polite.rightByIndexer) / load.seconds / capacityPerSecond;
      return [
        [
          `${mode}, ${nameOf(scenario)}`,
          `${polite.requests}`,
          `${right}`,
          `${((100 * right) / polite.requests).toFixed(1)} %`,
          milliseconds(polite.missP99Ms),
          `${(100 * all).toFixed(0)} %`,
        ],
      ];
    }),
  );
}

/** What became of each operation where they are not asked for alike, or one does not go as the others do. */
export function tableOfOperations(runs: readonly Run[]): string | undefined {
  const uneven = runs.filter(({ scenario }) => UNEVEN.has(scenario.kind));
  return tableUnlessEmpty(
    ['mode, load', ...OPERATIONS.flatMap((operation) => [`${operation}/s`, 'right/s', 'of them'])],
    uneven.map(({ mode, scenario, load }) => [
      `${mode}, ${nameOf(scenario)}`,
      ...OPERATIONS.flatMap((operation) => {
        const { requests, right } = load.uniqueBy[operation];
        const rate = (count: number) => (count / load.seconds).toFixed(0);
        return [rate(requests), rate(right), requests === 0 ? NONE : `${((100 * right) / requests).toFixed(1)} %`];
      }),
    ]),
  );
}

/** Cores in use while the load lasted, and how late the generator was itself. */
export function tableOfCpu(runs: readonly Run[]): string | undefined {
  return tableUnlessEmpty(
    ['cores in use', 'indexer', 'toncache', 'generator', 'others', 'idle', 'generator late p99 ms'],
    runs.map(({ mode, scenario, load, cpu }) => [
      `${mode}, ${nameOf(scenario)}`,
      cpu.indexer.toFixed(2),
      cpu.toncache?.toFixed(2) ?? NONE,
      cpu.generator.toFixed(2),
      cpu.others.toFixed(2),
      cpu.idle.toFixed(2),
      milliseconds(load.lateP99Ms),
    ]),
  );
}

/** The runs in which the machine was too busy for the figures to say much; none: no text. */
export function doubtsAbout(runs: readonly Run[]): string | undefined {
  const doubtful = runs.filter(({ load }) => (load.lateP99Ms ?? 0) > TOO_LATE_MS);
  if (doubtful.length === 0) return undefined;
  const names = doubtful.map(({ mode, scenario }) => `${mode}, ${nameOf(scenario)}`);
  return `The machine had too much else to do, the generator was late itself: do not rely on ${names.join('; ')}.`;
}

function tableUnlessEmpty(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  return rows.length === 0 ? undefined : markdownTable(head, rows);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function milliseconds(value: number | undefined): string {
  return value?.toFixed(value < 10 ? 1 : 0) ?? NONE;
}

function errorsOf(errors: Readonly<Record<string, number>>): string {
  const counts = Object.entries(errors).map(([error, count]) => `${count} ${error}`);
  return counts.length === 0 ? '0' : counts.join(', ');
}
