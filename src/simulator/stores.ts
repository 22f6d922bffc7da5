import { Refusal } from './refusal.ts';

/** The state of the indexer's own database and Redis while it makes one answer. */
export interface Stores {
  /**
   * `timesOut`: the database ends each statement after its first `rowsRead` rows. Where the indexer does not notice,
   * the answer is a false 404 or a short 200; elsewhere a 500. `unreachable`: always a 500.
   */
  readonly database: 'answers' | 'timesOut' | 'unreachable';
  readonly rowsRead: number;
  /** `fails`: the indexer takes a Redis that fails for one that knows no pending trace. */
  readonly redis: 'answers' | 'fails';
}

/** Both work. */
export const HEALTHY: Stores = { database: 'answers', rowsRead: 0, redis: 'answers' };

/** The rows of a statement whose timeout the indexer does not notice. Throws a {@link Refusal}, 500. */
export function select<Row>(stores: Stores, rows: readonly Row[]): readonly Row[] {
  connect(stores);
  return stores.database === 'timesOut' ? rows.slice(0, stores.rowsRead) : rows;
}

/** A statement whose timeout the indexer notices. Throws a {@link Refusal}, 500. */
export function selectAll<Row>(stores: Stores, rows: readonly Row[]): readonly Row[] {
  connect(stores);
  if (stores.database === 'timesOut') throw new Refusal(500, 'timeout: context deadline exceeded');
  return rows;
}

/** Takes a connection from the pool. Throws a {@link Refusal}, 500. */
export function connect({ database }: Stores): void {
  if (database === 'unreachable') throw new Refusal(500, 'failed to connect to `user=indexer database=ton_index`');
}
