import { simulatedOperation } from './operations.ts';
import { IndexerRefusal } from './query.ts';
import type { SimulatorQuestion } from './question.ts';

/** An answer without the headers of every answer. */
export interface SimulatedAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  /** Further headers; they may replace `Content-Type: application/json`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer of an indexer with the question's dialect at the question's instant. Refusals are answers too. */
export function answer(question: SimulatorQuestion): SimulatedAnswer {
  const operation = simulatedOperation(question.target);
  const methods: readonly string[] = operation?.methods ?? ['GET', 'HEAD'];
  try {
    if (!methods.includes(question.method)) throw new IndexerRefusal(405, 'Method Not Allowed');
    if (operation === undefined) throw new IndexerRefusal(404, 'Cannot find this path');
    return { status: 200, body: JSON.stringify(operation.answer(question)) };
  } catch (error) {
    if (!(error instanceof IndexerRefusal)) throw error;
    return { status: error.status, body: JSON.stringify({ error: error.message }) };
  }
}
