import type { Admission, Ticket } from '../admission/admission.ts';
import type { EntryRequest } from '../admission/guard.ts';
import type { Pause } from '../admission/pause.ts';
import type { Entry } from '../cache/entry.ts';
import { compareCompleteness } from '../cache/precedence.ts';
import { type ErrorCode, ProxyError } from '../errors.ts';
import { Doubt } from '../fleet/doubt.ts';
import type { Heads } from '../fleet/heads.ts';
import type { Hedging } from '../fleet/hedging.ts';
import { besides, mayBeHedged } from '../fleet/lanes.ts';
import { raced } from '../fleet/race.ts';
import type { RetryBudget } from '../fleet/retry-budget.ts';
import type { FleetRoute } from '../fleet/routes.ts';
import { SecondTries, type TriedAnswer } from '../fleet/second-tries.ts';
import type { Head } from '../indexer/head.ts';
import type { HeadPolls } from '../indexer/head-polls.ts';
import type { IndexerWords, UpstreamClient } from '../indexer/upstream-client.ts';
import type { Flight } from '../once/single-flight.ts';
import { outcomeOf } from '../outcomes.ts';
import type { MonotonicMs } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import { isHead } from '../ton/chain-point.ts';
import type { LifetimePolicies } from '../ton/lifetime-table.ts';
import { type Call, seqnoOf, touchedBy } from '../ton/parse-call.ts';
import type { AnswerBodyReader } from './answer-body-reader.ts';
import type { BlockJudge } from './block-proof.ts';
import { classifyAnswer, type ReadAnswer, untrueAnswer } from './classify-answer.ts';
import { NO_SOCKETS, type RefusalErrorOf, type UpstreamOperation } from './refusal-error.ts';

/** This much of an answer outside of the API is logged: enough to identify its sender. */
const EXCERPT_BYTES = 100;

/** The event of an indexer's answer that could not be used. */
export interface UselessAnswer {
  readonly name: 'upstream-useless';
  readonly indexer: string;
  readonly operation: UpstreamOperation;
  readonly code: ErrorCode;
  readonly status: number;
  /** The indexer's own words. */
  readonly says?: IndexerWords | undefined;
  /** For an answer outside of the API: its type, and its first bytes. */
  readonly contentType?: string | undefined;
  readonly begins?: string;
}

/** An indexer that can get requests. */
export interface AskableIndexer {
  readonly name: string;
  readonly client: Pick<UpstreamClient, 'fetch'>;
  readonly head: Pick<Head, 'show' | 'chainTime' | 'newestBlock' | 'hasBlock' | 'refute' | 'isOfOurChain'>;
  readonly polls: Pick<HeadPolls, 'hear' | 'askIfDue'>;
  /** The pauses that it demanded. */
  readonly pause: Pick<Pause, 'refusal'>;
  readonly route: Pick<FleetRoute, 'health' | 'isBackup'>;
}

export interface IndexersDependencies {
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
  /** Gets anything that a bug throws in a request that nobody waits for any more. */
  readonly reportBug: (bug: unknown) => void;
  readonly policies: LifetimePolicies;
}

/** One request, by a flight that has its ticket. */
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
  /** Holds its slot until the answer is stored, or will certainly not be stored. */
  readonly ticket: Ticket;
}

type SendResult = IndexerAnswer | ProxyError;

/**
 * Sends a request to an indexer, and sometimes a second one ({@link SecondTries}); the more complete of two answers
 * counts. With several indexers, a request that takes longer than nearly all others is also sent to another one (a
 * hedge; Dean and Barroso, The Tail at Scale): the first answer counts. The other request is not aborted: the indexer
 * would finish its work anyway, and its time informs later choices.
 */
export class Indexers {
  readonly #dependencies: IndexersDependencies;
  readonly #doubt: Doubt;
  readonly #secondTries: SecondTries;

  constructor(dependencies: IndexersDependencies) {
    this.#dependencies = dependencies;
    this.#doubt = new Doubt(dependencies);
    this.#secondTries = new SecondTries({ ...dependencies, doubt: this.#doubt });
  }

  /** `keep` stores the answer before its slot goes to the next request. Frees every ticket. A throw is a bug. */
  async ask<T>(question: Question, keep: (answer: IndexerAnswer) => T): Promise<T | ProxyError> {
    const answer = await this.#answerTo(question);
    if (answer instanceof ProxyError) return answer;
    try {
      return keep(answer);
    } finally {
      answer.ticket.free();
    }
  }

  async #answerTo(question: Question): Promise<SendResult> {
    const { hedging, retries, admission, refusalError, reportBug } = this.#dependencies;
    retries.countCall();
    hedging?.budget.countCall();
    const asked = this.#send(question, question.ticket);
    const isHedged = hedging !== undefined && mayBeHedged(question.request.lane);
    if (isHedged && (await hedging.isOverdue(question.call.operation.name, asked))) {
      const hedge = { ...question.request, lane: besides(question.request.lane, question.ticket.route.index) };
      const ticket = await this.#enterHedge(hedge);
      const freed = (result: SendResult) => void (result instanceof ProxyError || result.ticket.free());
      if (ticket !== undefined)
        return raced(asked, this.#send({ ...question, request: hedge }, ticket), freed, reportBug);
    }
    const first = await asked;
    const { request, ticket, known } = question;
    const { index } = ticket.route;
    const lane = this.#secondTries.laneAfter(first, request.lane, index, known !== undefined);
    if (lane === undefined) return first;
    const other = { ...request, lane };
    let chosen: SendResult | undefined;
    try {
      // After an answer, the second try never waits for a slot: the first one may keep its slot meanwhile.
      const entered = await admission.enter(other);
      const second =
        'reason' in entered ? refusalError(other, entered) : await this.#send({ ...question, request: other }, entered);
      chosen = betterOf(first, second);
      if (second instanceof ProxyError) return chosen;
      if (chosen === second) this.#secondTries.compare(first, second, [request.lane, lane], index);
      else second.ticket.free();
      return chosen;
    } finally {
      if (chosen !== first && !(first instanceof ProxyError)) first.ticket.free();
    }
  }

  /** A ticket for a hedge at another indexer; `undefined` if no slot is free or the limit of hedges is reached. */
  async #enterHedge(request: EntryRequest): Promise<Ticket | undefined> {
    const { admission, hedging } = this.#dependencies;
    if (admission.refusal(request) !== undefined || hedging?.budget.tryTake() !== true) return undefined;
    const ticket = await admission.enter(request);
    return 'reason' in ticket ? undefined : ticket;
  }

  /** One request to the indexer of a ticket. Frees the ticket if the answer cannot be cached. */
  async #send({ call, request, flight, trace, known }: Question, ticket: Ticket): Promise<SendResult> {
    const { indexers, pollHeads, hedging, hasReached, bodies, refusalError, proofs, monotonic, random } =
      this.#dependencies;
    const operation = call.operation.name;
    const seqno = seqnoOf(call);
    const indexer = indexers[ticket.route.index] as AskableIndexer;
    let answered: IndexerAnswer | undefined;
    const by = (error: ProxyError) => (indexers.length === 1 ? error : error.with({ indexer: indexer.name }));
    try {
      const go = ticket.send();
      if (go !== 'go') return refusalError(request, go);
      flight.depart();
      pollHeads();
      const startedAt = monotonic();
      // Read before the request is sent: anything that is seen of the chain during the request is newer than the
      // answer.
      const awaitedBlock = seqno === undefined || hasReached(seqno) ? undefined : seqno;
      const { query, headers } = call.request;
      const answer = await indexer.client.fetch({ operation, query, headers: [...headers, ...trace] });
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
      const entry = this.#classify({ call, key: request.key, answer, facts, awaitedBlock, proof }, indexer);
      if (entry instanceof ProxyError) {
        ticket.learn(outcomeOf(entry), answer.retryAfterMs);
        const { code } = entry;
        const wait = indexer.pause.refusal(request.key)?.retryAfterMs ?? 0;
        return by(code === 'upstream-rate-limited' ? entry.withWait(wait, random()) : entry);
      }
      const isAbsent = entry.meta.answerClass === 'absent';
      ticket.learn(isAbsent ? 'absent' : 'answered');
      const isDoubtful = this.#doubt.isDoubtful(facts.finality, seqno, ticket.route.index);
      const isRegressed = known !== undefined && isLess(entry, known);
      answered = { entry, isAbsent, isDoubtful, isRegressed, ticket };
      return answered;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      ticket.learn(outcomeOf(error));
      return error.code === 'overloaded' ? refusalError(request, NO_SOCKETS) : by(error);
    } finally {
      if (answered === undefined) ticket.free();
    }
  }

  /** Classifies an answer as an entry, or as the failure that clients get. Learns the indexer's chain from an entry. */
  #classify(read: ReadAnswer, { head, polls, name: indexer, route }: AskableIndexer): Entry | ProxyError {
    const { indexers, random, report, policies } = this.#dependencies;
    const { chainTime, isOfOurChain } = head;
    // Nothing else polls a backup, whose chain may not be known since the start.
    if (read.facts.finality?.newestNow !== undefined || (route.isBackup && !isOfOurChain)) polls.askIfDue();
    const name = indexers.length === 1 ? '' : indexer;
    const by = { indexer: name, isLocal: !isOfOurChain, random, chainTime };
    let classified = classifyAnswer(read, by, policies);
    if (!(classified instanceof ProxyError)) {
      const { chainPoint } = read.facts;
      if (!isHead(chainPoint)) head.show(chainPoint);
      else if (chainPoint.seqno < 0) classified = untrueAnswer(read);
    }
    if (!(classified instanceof ProxyError)) return classified;
    const { call, answer } = read;
    const { code } = classified;
    const { status, contentType, body } = answer;
    const begins = body.toString('utf8', 0, EXCERPT_BYTES);
    report({
      name: 'upstream-useless',
      indexer,
      operation: call.operation.name,
      code,
      status,
      ...(answer.says && { says: answer.says }),
      ...(code === 'upstream-invalid' && { contentType, begins }),
    });
    return classified;
  }
}

function isLess(next: Entry, known: Entry): boolean {
  return compareCompleteness(next.completeness, known.completeness) === 'less';
}

/**
 * The first of two results if it is an answer and the second one is less complete or failed. If both failed, the second
 * failure counts, unless it only reports that the indexer does not serve the operation.
 */
function betterOf(first: SendResult, second: SendResult): SendResult {
  if (!(first instanceof ProxyError))
    return second instanceof ProxyError || isLess(second.entry, first.entry) ? first : second;
  if (!(second instanceof ProxyError)) return second;
  return second.wentForward && second.code !== 'not-served' ? second : first;
}
