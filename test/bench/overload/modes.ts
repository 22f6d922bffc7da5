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

/** One line of the chart each, in the order of its colours. */
export const MODES: readonly Mode[] = [{ name: 'direct' }, { name: 'simple', toncache: {} }];
