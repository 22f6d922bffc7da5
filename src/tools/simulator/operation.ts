import type { SimulatorQuestion } from './question.ts';

/** All that the simulated indexer knows of one operation. A new one: a file in `operations/`, a line in `operations.ts`. */
export interface SimulatedOperation {
  readonly name: string;
  /** The methods that are answered, where they are not GET and HEAD. */
  readonly methods?: readonly string[];
  /** The body of the answer at the question's instant. Throws an `IndexerRefusal`. */
  readonly answer: (question: SimulatorQuestion) => object;
  /**
   * The instants at which the answer to a question changes, in epoch ms and in any order; some may be infinite. Absent
   * where nobody asks for past answers.
   */
  readonly changes?: (question: SimulatorQuestion) => readonly number[];
}
