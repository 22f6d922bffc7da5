import type { SimulatorQuestion } from './question.ts';

/**
 * The simulated indexer's knowledge of one operation. For a new operation add a file in `operations/` and a line in
 * `operations.ts`.
 */
export interface SimulatedOperation {
  readonly name: string;
  /** Other names of its path. */
  readonly aliases?: readonly string[];
  /** The accepted methods, if they are not GET and HEAD. */
  readonly methods?: readonly string[];
  /** The body of the answer at the question's instant. Throws an `IndexerRefusal`. */
  readonly answer: (question: SimulatorQuestion) => object;
  /**
   * The instants at which the answer to a question changes, in epoch ms and in any order; some may be infinite. Absent
   * if nobody requests past answers.
   */
  readonly changes?: (question: SimulatorQuestion) => readonly number[];
}
