import type { ScenarioKind } from './scenarios.ts';

/** What stands between the load and the indexer. */
export interface Mode {
  /** For `--mode`, the tables and the chart. */
  readonly name: string;
  /** How toncache is set; without it the indexer is asked directly. */
  readonly toncache?: ToncacheSettings;
  /** The scenarios in which it is compared with the others when no mode is named. */
  readonly comparedIn: readonly ScenarioKind[];
}

/** Beside what the bench sets: the indexer's address and the ports. */
export interface ToncacheSettings {
  /** What a `CONFIG_FILE` holds. */
  readonly file?: object;
  readonly environment?: Readonly<Record<string, string>>;
}

const NO_SHARES = { shares: { pendingTraces: 0, adjacentTransactions: 0, masterchainBlockShards: 0 } };
/** Clients wait half of their time for a slot, whatever the backlog. */
const NO_REFUSALS = { patience: '1min', overloadedPatience: '1min' };
const NO_BREAKER = { breaker: { minimumThroughput: 100_000 } };

/** One line of the chart each, in the order of its colours. Each step has those before it; the last is as shipped. */
export const MODES: readonly Mode[] = [
  {
    name: 'direct',
    comparedIn: ['steady', 'resets', 'spike', 'wallets', 'burst', 'closed-loop', 'pages', 'slow', 'hang'],
  },
  {
    name: 'bound',
    toncache: { file: { ...NO_BREAKER, admission: { ...NO_REFUSALS, ...NO_SHARES } } },
    comparedIn: ['steady', 'spike', 'wallets', 'slow', 'hang'],
  },
  {
    name: 'patience',
    toncache: { file: { ...NO_BREAKER, admission: NO_SHARES } },
    comparedIn: ['steady', 'flood', 'slow', 'hang'],
  },
  { name: 'shares', toncache: { file: NO_BREAKER }, comparedIn: ['flood', 'failing', 'slow', 'hang'] },
  {
    name: 'shipped',
    toncache: {},
    comparedIn: [
      'steady',
      'flood',
      'failing',
      'resets',
      'spike',
      'wallets',
      'burst',
      'closed-loop',
      'pages',
      'slow',
      'hang',
      'greedy',
      'backfill',
    ],
  },
];
