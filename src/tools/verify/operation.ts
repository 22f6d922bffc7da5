import type { OperationName } from '../../ton/operation-names.ts';
import type { RowsIn } from './bodies.ts';
import type { Run } from './examine.ts';
import type { ChainSample } from './learn-chain.ts';

/** The checks of one operation. For a new operation add a file in `operations/` and a line in `operations.ts`. */
export interface VerifiedOperation {
  readonly name: OperationName;
  /** Finds the rows in the body of a 200. */
  readonly rowsIn: RowsIn;
  /** Queries that no indexer answers, each with the parameter that the error must name. */
  readonly badInput: readonly (readonly [query: string, named: string])[];
  /** The query for missing data, by a hash that does not exist. Absent if everything exists. */
  readonly unknown?: (hash: string) => string;
  /** Requests existing data: in all spellings first, because they should cost one request to the indexer. */
  readonly check: (run: Run, sample: ChainSample) => Promise<void>;
  /** Called last: for data that does not exist yet. */
  readonly checkNext?: (run: Run) => Promise<void>;
}
