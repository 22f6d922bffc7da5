import { isObject } from '../../../json-object.ts';
import { runMethod, type StackEntry, TIME_METHOD, TIME_STEP_MS } from '../get-methods.ts';
import type { SimulatedOperation } from '../operation.ts';
import { IndexerRefusal, readAddress } from '../query.ts';
import type { SimulatorQuestion } from '../question.ts';

const TYPES = ['num', 'cell', 'slice', 'tuple', 'list'];

interface Asked {
  readonly address: string;
  readonly method: string;
  readonly stack: readonly StackEntry[];
}

/** The body of a question. Throws an {@link IndexerRefusal}. */
function askedIn({ body, dialect }: SimulatorQuestion): Asked {
  const { address, method, stack } = objectIn(body);
  const refused = (status: 401 | 422 | 500, why: string): never => {
    throw new IndexerRefusal(status, why);
  };
  if (address === undefined || address === '') return refused(401, 'address of account is required');
  if (method === undefined || method === '') return refused(401, 'method is required');
  if (typeof address !== 'string' || typeof method !== 'string')
    return refused(500, 'internal server error: json: cannot unmarshal number');
  const entries: readonly unknown[] = Array.isArray(stack) ? stack : [];
  const isEntry = (entry: unknown): entry is StackEntry =>
    isObject(entry) && TYPES.includes(String(entry['type'])) && entry['value'] !== undefined;
  if (!entries.every(isEntry)) return refused(500, 'unsupported type of a stack entry');
  return { address: readAddress(address, dialect) ?? refused(500, 'invalid address'), method, stack: entries };
}

function objectIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isObject(parsed)) return parsed;
  } catch {
    // Refused below.
  }
  throw new IndexerRefusal(422, 'failed to parse the body');
}

/** Runs a get-method on the state that the lite server has. */
function answer(question: SimulatorQuestion): object {
  const { address, ...run } = askedIn(question);
  return { gas_used: 1000 + run.method.length, ...runMethod(question.chain, address, run, question.instant) };
}

/** The blocks of the chain with a transaction of the contract, whether the indexer has them or not. */
function changes(question: SimulatorQuestion): readonly number[] {
  const { address, method } = askedIn(question);
  const { chain } = question;
  const executed = chain.executed(address).map(({ seqno }) => chain.clock.committedAt(seqno));
  if (method !== TIME_METHOD) return executed;
  const from = Math.ceil(chain.clock.committedAt(chain.floorSeqno()) / TIME_STEP_MS);
  const steps = Math.max(0, Math.floor(chain.now / TIME_STEP_MS) - from + 1);
  return [...executed, ...Array.from({ length: steps }, (_, n) => (from + n) * TIME_STEP_MS)];
}

/** The result of a get-method of a contract. */
export const runGetMethod = {
  name: 'runGetMethod',
  methods: ['POST'],
  answer,
  changes,
} as const satisfies SimulatedOperation;
