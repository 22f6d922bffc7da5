import type { Admission } from '../admission/admission.ts';
import type { EntryRequest } from '../admission/guard.ts';
import type { Pause } from '../admission/pause.ts';
import type { Ticket } from '../admission/ticket.ts';
import type { Entry } from '../cache/entry.ts';
import { compareCompleteness } from '../cache/precedence.ts';
import { failure, ProxyError } from '../errors.ts';
import type { Heads } from '../fleet/heads.ts';
import type { Hedging } from '../fleet/hedging.ts';
import type { RetryBudget } from '../fleet/retry-budget.ts';
import type { FleetRoute } from '../fleet/routes.ts';
import { besides, secondTryWith, type TriedAnswer } from '../fleet/second-try.ts';
import type { Head } from '../indexer/head.ts';
import type { HeadPolls } from '../indexer/head-polls.ts';
import type { UpstreamClient } from '../indexer/upstream-client.ts';
import type { Flight } from '../once/single-flight.ts';
import { outcomeOf } from '../outcomes.ts';
import type { MonotonicMs } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import { isHead } from '../ton/chain-point.ts';
import type { LifetimePolicies } from '../ton/lifetime-table.ts';
import { type Call, requestOf, seqnoOf, touchedBy } from '../ton/parse-call.ts';
import type { AnswerBodyReader } from './answer-body-reader.ts';
import type { BlockJudge } from './block-proof.ts';
import {
  classifyAnswer,
  type IndexerThatAnswered,
  type ReadAnswer,
  type UselessAnswer,
  untrueAnswer,
  uselessAnswer,
} from './classify-answer.ts';
import { NO_SOCKETS, type RefusalErrorOf } from './refusal-error.ts';

/** An indexer that can get requests. */
export interface AskableIndexer extends IndexerThatAnswered {
  readonly client: Pick<UpstreamClient, 'fetch'>;
  readonly head: Pick<Head, 'show' | 'chainTime' | 'newestBlock' | 'hasBlock' | 'refute' | 'isOfOurChain'>;
  readonly polls: Pick<HeadPolls, 'hear' | 'askIfDue'>;
  /** The pauses that it demanded. */
  readonly pause: Pick<Pause, 'refusal'>;
  readonly route: Pick<FleetRoute, 'health' | 'isBackup'>;
}

export interface AskDependencies {
  /** In the order of the routes of admission. */
  readonly indexers: readonly AskableIndexer[];
  /** Absent without two replicas, like `hedging`. */
  readonly heads: Heads | undefined;
  readonly hedging: Hedging | undefined;
  /** True if the chain is known to have reached a masterchain block. */
  readonly hasReached: (seqno: number) => boolean;
  /** Polls the heads of the indexers in the background, if a poll is due. */
  readonly pollHeads: () => void;
  readonly admission: Pick<Admission, 'enter' | 'refusal'>;
  readonly refusalError: RefusalErrorOf;
  readonly bodies: AnswerBodyReader;
  readonly retries: RetryBudget;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly monotonic: () => MonotonicMs;
  readonly report: (event: UselessAnswer) => void;
  /** Judges answers about accounts, by the transactions in all answers. Absent if no answers are proven. */
  readonly proofs: BlockJudge | undefined;
  /** Gets anything that a bug throws in one of two requests for the same question. */
  readonly reportBug: (bug: unknown) => void;
  readonly policies: LifetimePolicies;
}

/** What a flight asks, with the ticket of its first request. */
export interface Question {
  readonly call: Call;
  readonly request: EntryRequest;
  readonly flight: Flight;
  /** Headers that identify the client's request that began the flight. */
  readonly trace: Pairs;
  readonly ticket: Ticket;
  /** The result of the look-up: too old for a hit, but perhaps more complete than the indexer's answer. */
  readonly known: Entry | undefined;
}

export interface IndexerAnswer extends TriedAnswer {
  readonly entry: Entry;
}

type Result = IndexerAnswer | ProxyError;

/** Asks the indexers. `keep` stores the answer, before its slot goes to the next request. A throw is a bug. */
export type Ask = <T>(question: Question, keep: (answer: IndexerAnswer) => T) => Promise<T | ProxyError>;

/** Builds {@link Ask}. It owns the ticket of a question, and frees each ticket that it takes. */
export function askWith(dependencies: AskDependencies): Ask {
  const { indexers, hedging, hasReached, pollHeads, admission, refusalError, bodies } = dependencies;
  const { retries, random, monotonic, report, proofs, reportBug, policies } = dependencies;
  const secondTry = secondTryWith(dependencies);
  const isAlone = indexers.length === 1;

  return ask;

  async function ask<T>(question: Question, keep: (answer: IndexerAnswer) => T): Promise<T | ProxyError> {
    const slots = new AnswerSlots();
    try {
      const result = await firstGood(question, slots);
      return result instanceof ProxyError ? result : keep(result);
    } finally {
      slots.free();
    }
  }

  /**
   * Sends a question, and in two cases a second request for it. A hedge, while the first request takes longer than nearly
   * all others (Dean and Barroso, The Tail at Scale): the first good answer counts. A second try, after the first request
   * ({@link secondTryWith}): the more complete answer counts. No request is aborted: the indexer would finish its work
   * anyway, and its time informs later choices.
   */
  async function firstGood(question: Question, slots: AnswerSlots): Promise<Result> {
    const { call, request, ticket, known } = question;
    const { index } = ticket.route;
    retries.countCall();
    hedging?.budget.countCall();
    const asked = send(question, request, ticket, slots);
    if (hedging !== undefined && request.waits && (await hedging.isOverdue(call.operation.name, asked))) {
      const hedge = besides(request, index);
      const isAffordable = admission.refusal(hedge) === undefined && hedging.budget.tryTake();
      const entered = isAffordable ? await admission.enter(hedge) : undefined;
      if (entered !== undefined && !('reason' in entered))
        return firstCertain(asked, send(question, hedge, entered, slots));
    }
    const first = await asked;
    const next = secondTry.after(first, request, index, known !== undefined);
    if (next === undefined) return first;
    const entered = await admission.enter(next);
    const second = 'reason' in entered ? refusalError(next, entered) : await send(question, next, entered, slots);
    const better = betterOf(first, second);
    if (better === second && !(second instanceof ProxyError))
      secondTry.compare([first, request], [second, next], index);
    return better;
  }

  /** The first of two answers that is certain; else the first answer; else the failure of the first request. */
  function firstCertain(request: Promise<Result>, hedge: Promise<Result>): Promise<Result> {
    const both = [request.catch(bugAsFailure), hedge.catch(bugAsFailure)] as const;
    const firstOf = (isGood: (answer: IndexerAnswer) => boolean) =>
      Promise.any(both.map(async (each) => answerIf(await each, isGood)));
    return firstOf(({ isDoubtful, isRegressed }) => !isDoubtful && !isRegressed)
      .catch(() => firstOf(() => true))
      .catch(() => both[0]);
  }

  function bugAsFailure(bug: unknown): ProxyError {
    reportBug(bug);
    return failure('internal');
  }

  /** Sends one request to the indexer of its ticket. Unless there is an answer, its slot is free then. */
  async function send(question: Question, request: EntryRequest, ticket: Ticket, slots: AnswerSlots): Promise<Result> {
    const { call, flight, trace, known } = question;
    const operation = call.operation.name;
    const seqno = seqnoOf(call);
    const indexer = indexers[ticket.route.index] as AskableIndexer;
    const by = (error: ProxyError) => (isAlone ? error : error.with({ indexer: indexer.name }));
    let endUse = ticket.free;
    try {
      const go = ticket.send();
      if (go !== 'go') return refusalError(request, go);
      flight.depart();
      pollHeads();
      const startedAt = monotonic();
      // Read before the request is sent: anything that is seen of the chain during the request is newer than the
      // answer.
      const awaitedBlock = seqno === undefined || hasReached(seqno) ? undefined : seqno;
      const answer = await indexer.client.fetch(requestOf(call, trace));
      hedging?.answered(operation, monotonic() - startedAt);
      const reading = bodies.read(call, answer, proofs?.unreadFrom);
      const facts = reading instanceof Promise ? await reading : reading;
      if (isHead(facts.chainPoint)) indexer.polls.hear(facts.chainPoint);
      // Its head may have come in the meantime, or in this answer.
      const refusal = ticket.route.refusal?.();
      if (refusal !== undefined) return refusalError(request, refusal);
      if (facts.rows.length > 0) proofs?.shown(facts.rows);
      const givenAt = startedAt - answer.ageValueSeconds * 1000;
      const proof = call.operation.evidence && proofs?.proofOf(facts.evidence, touchedBy(call), givenAt);
      const entry = classified({ call, key: request.key, answer, facts, awaitedBlock, proof }, indexer);
      if (entry instanceof ProxyError) {
        ticket.learn(outcomeOf(entry), answer.retryAfterMs);
        const wait = indexer.pause.refusal(request.key)?.retryAfterMs ?? 0;
        return by(entry.code === 'upstream-rate-limited' ? entry.withWait(wait, random()) : entry);
      }
      const isAbsent = entry.meta.answerClass === 'absent';
      ticket.learn(isAbsent ? 'absent' : 'answered');
      endUse = () => slots.hold(ticket);
      const isRegressed = known !== undefined && isLess(entry, known);
      return {
        entry,
        isAbsent,
        isDoubtful: secondTry.isDoubtful(facts.finality, seqno, ticket.route.index),
        isRegressed,
      };
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      ticket.learn(outcomeOf(error));
      return error.code === 'overloaded' ? refusalError(request, NO_SOCKETS) : by(error);
    } finally {
      endUse();
    }
  }

  /** Classifies an answer as an entry, or as the failure that clients get. Learns the indexer's chain from an entry. */
  function classified(read: ReadAnswer, indexer: AskableIndexer): Entry | ProxyError {
    const { head, polls, name, route } = indexer;
    const { chainPoint, finality } = read.facts;
    const { chainTime, isOfOurChain } = head;
    // Nothing else polls a backup, whose chain may not be known since the start.
    if (finality?.newestNow !== undefined || (route.isBackup && !isOfOurChain)) polls.askIfDue();
    const by = { indexer: isAlone ? '' : name, isLocal: !isOfOurChain, random, chainTime };
    let entry = classifyAnswer(read, by, policies);
    if (!(entry instanceof ProxyError) && isHead(chainPoint) && chainPoint.seqno < 0) entry = untrueAnswer(read);
    if (entry instanceof ProxyError) {
      if (entry.details.isOwnAnswer !== true) report(uselessAnswer(read, indexer, entry.code));
    } else if (!isHead(chainPoint)) head.show(chainPoint);
    return entry;
  }
}

/**
 * The slots of the answers to one question. They are free together, when an answer is stored or none will be: until
 * then another request in their place would be one too many. The slot of an answer that comes later is free at once.
 */
class AnswerSlots {
  readonly #tickets: Ticket[] = [];
  #isOver = false;

  hold(ticket: Ticket): void {
    if (this.#isOver) ticket.free();
    else this.#tickets.push(ticket);
  }

  free(): void {
    this.#isOver = true;
    for (const ticket of this.#tickets) ticket.free();
  }
}

/** Rejects for a failure, and for an answer that is not good. */
function answerIf(result: Result, isGood: (answer: IndexerAnswer) => boolean): IndexerAnswer {
  if (result instanceof ProxyError || !isGood(result)) throw result;
  return result;
}

function isLess(next: Entry, known: Entry): boolean {
  return compareCompleteness(next.completeness, known.completeness) === 'less';
}

/**
 * The first of two results if it is an answer and the second one is less complete or failed. If both failed, the second
 * failure counts, unless it only reports that the indexer does not serve the operation.
 */
function betterOf(first: Result, second: Result): Result {
  if (!(first instanceof ProxyError))
    return second instanceof ProxyError || isLess(second.entry, first.entry) ? first : second;
  if (!(second instanceof ProxyError)) return second;
  return second.wentForward && second.code !== 'not-served' ? second : first;
}
