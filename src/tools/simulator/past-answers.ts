import { answer } from './answer.ts';
import type { Chain } from './chain.ts';
import type { Dialect } from './dialect.ts';
import { simulatedOperation } from './operations.ts';
import { type AskedRequest, SimulatorQuestion } from './question.ts';

/** The status and the body of an answer. */
export interface Said {
  readonly status: number;
  readonly text: string;
}

/** The indexer's answer to a request between two changes of the chain. Instants are epoch ms. */
export interface PastAnswer {
  readonly fromAt: number;
  readonly untilAt: number;
  /** Made on demand: most are never read. */
  readonly said: () => Said;
}

/** Every answer of the indexer to a request: oldest first, without gaps, and with the known future ones. */
export function pastAnswers(request: AskedRequest, chain: Chain, dialect: Dialect): readonly PastAnswer[] {
  const changesOf = simulatedOperation(request.target)?.changes ?? (() => []);
  const changes = [...new Set(changesOf(new SimulatorQuestion(request, { chain, dialect })))].filter(Number.isFinite);
  changes.sort((a, b) => a - b);
  return [Number.NEGATIVE_INFINITY, ...changes].map((fromAt, place) => ({
    fromAt,
    untilAt: changes[place] ?? Number.POSITIVE_INFINITY,
    said: () => {
      const { status, body } = answer(new SimulatorQuestion(request, { chain, dialect, instant: fromAt }));
      return { status, text: String(body) };
    },
  }));
}
