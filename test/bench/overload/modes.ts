/** What stands between the load and the indexer. */
export interface Mode {
  /** For `--mode`, the tables and the chart. */
  readonly name: string;
  /** How toncache is set; without it the indexer is asked directly. */
  readonly toncache?: ToncacheSettings;
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

/** One line of the chart each, in the order of its colours. Each step has those before it. */
export const MODES: readonly Mode[] = [
  { name: 'direct' },
  { name: 'simple', toncache: { file: SIMPLE } },
  { name: 'queue', toncache: { file: { ...SIMPLE, admission: QUEUE } } },
  { name: 'shares', toncache: { file: { admission: { adaptive: false } } } },
  { name: 'adaptive', toncache: {} },
];
