import { answer } from './answer.ts';
import type { Chain } from './chain.ts';
import type { Dialect } from './dialect.ts';
import { simulatedOperation } from './operations.ts';
import { type AskedRequest, SimulatorQuestion } from './question.ts';

/** An answer of which only the status and the body matter. */
export interface Said {
  readonly status: number;
  readonly text: string;
}

/** What the indexer says to a request from one change of the chain to the next. Instants are epoch ms. */
export interface PastAnswer {
  readonly fromAt: number;
  readonly untilAt: number;
  /** Made when it is asked for: most are never looked at. */
  readonly said: () => Said;
}

/** Every answer that the indexer gives to a request: oldest first, without gaps, and with the known ones to come. */
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
