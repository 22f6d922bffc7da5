import type { OperationName } from '../../ton/operation-names.ts';
import type { RowsIn } from './bodies.ts';
import type { Run } from './examine.ts';
import type { ChainSample } from './learn-chain.ts';

/** All that is asked of one operation. A new one: a file in `operations/`, and a line in `operations.ts`. */
export interface VerifiedOperation {
  readonly name: OperationName;
  /** Finds the rows in the body of a 200. */
  readonly rowsIn: RowsIn;
  /** Queries that no indexer answers, each with the parameter that the error must name. */
  readonly badInput: readonly (readonly [query: string, named: string])[];
  /** The query for what cannot be there, by a hash that nothing has. Absent where everything is there. */
  readonly unknown?: (hash: string) => string;
  /** Asks for what is there: in all spellings first, because they should cost one request to the indexer. */
  readonly check: (run: Run, sample: ChainSample) => Promise<void>;
  /** Asked after everything else has been: for what is not there yet. */
  readonly checkNext?: (run: Run) => Promise<void>;
}
