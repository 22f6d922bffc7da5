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

/** Everything that can be switched off, off: a fixed bound and a queue in which one waits up to the deadline. */
const SIMPLE = {
  admission: {
    adaptive: false,
    queueTarget: '1min',
    queueInterval: '1min',
    shares: { pendingTraces: 0, adjacentTransactions: 0, masterchainBlockShards: 0 },
  },
  breaker: { leastKeys: 100_000 },
};

const QUEUE = { ...SIMPLE.admission, queueTarget: '50ms', queueInterval: '100ms' };
const SHARES = { adaptive: false };

/** One line of the chart each, in the order of its colours. Each step has those before it. */
export const MODES: readonly Mode[] = [
  { name: 'direct', comparedIn: ['steady', 'resets', 'spike', 'wallets'] },
  { name: 'simple', toncache: { file: SIMPLE }, comparedIn: ['steady', 'spike', 'wallets'] },
  {
    name: 'queue',
    toncache: { file: { ...SIMPLE, admission: QUEUE } },
    comparedIn: ['steady', 'flood', 'spike', 'wallets'],
  },
  { name: 'shares', toncache: { file: { ...SIMPLE, admission: SHARES } }, comparedIn: ['flood', 'failing'] },
  { name: 'breaker', toncache: { file: { admission: SHARES } }, comparedIn: ['steady', 'failing', 'spike', 'wallets'] },
  { name: 'adaptive', toncache: {}, comparedIn: ['steady', 'flood', 'failing', 'resets', 'spike', 'wallets'] },
];
