import type { Admission, Ticket } from '../admission/admission.ts';
import type { EntryRequest } from '../admission/guard.ts';
import type { Pause } from '../admission/pause.ts';
import type { Route } from '../admission/route.ts';
import type { Entry } from '../cache/entry.ts';
import { compareCompleteness } from '../cache/precedence.ts';
import type { IndexerHead } from '../chain/indexer-head.ts';
import type { Proofs } from '../chain/proofs.ts';
import { ProxyError } from '../errors.ts';
import { Doubt } from '../fleet/doubt.ts';
import type { Heads } from '../fleet/heads.ts';
import type { Hedging } from '../fleet/hedging.ts';
import { besides, mayBeHedged } from '../fleet/lanes.ts';
import { raced } from '../fleet/race.ts';
import { SecondTries, type TriedAnswer } from '../fleet/second-tries.ts';
import type { RetryBudget } from '../indexer/retry-budget.ts';
import type { UpstreamClient } from '../indexer/upstream-client.ts';
import type { Flight } from '../once/single-flight.ts';
import { outcomeOf } from '../outcomes.ts';
import type { MonotonicMs } from '../time-units.ts';
import type { Pairs } from '../ton/canonical-request.ts';
import { isHead } from '../ton/chain-point.ts';
import type { LifetimePolicies } from '../ton/lifetime.ts';
import { type Call, seqnoOf } from '../ton/parse-call.ts';
import type { AnswerBodyReader } from './answer-body-reader.ts';
import type { BodyFacts } from './body-facts.ts';
import { classifyAnswer, type ReadAnswer, untrueAnswer } from './classify-answer.ts';
import type { Report } from './events.ts';
import { NO_SOCKETS, type RefusalErrorOf } from './refusal-error.ts';

/** So much of an answer that is not of the API is logged: enough to see who answered. */
const EXCERPT_BYTES = 100;

/** An indexer that can be asked. */
export interface AskableIndexer {
  readonly name: string;
  readonly client: Pick<UpstreamClient, 'fetch'>;
  readonly head: Pick<
    IndexerHead,
    'learn' | 'hear' | 'chainTime' | 'askIfDue' | 'newestBlock' | 'hasBlock' | 'refute' | 'fault'
  >;
  /** The pauses that it asked for. */
  readonly pause: Pick<Pause, 'refusal'>;
  readonly route: Pick<Route, 'health' | 'isBackup'>;
}

export interface IndexersDependencies {
  /** In the order of the routes of admission. */
  readonly indexers: readonly AskableIndexer[];
  /** Absent where there are no two replicas, as `hedging` is. */
  readonly heads: Heads | undefined;
  readonly hedging: Hedging | undefined;
  /** Whether the chain is known to have reached a masterchain block. */
  readonly hasReached: (seqno: number) => boolean;
  /** Asks the indexers for their heads in the background, if it is time. */
  readonly pollHeads: () => void;
  readonly admission: Pick<Admission, 'enter' | 'refusal'>;
  readonly refusalError: RefusalErrorOf;
  readonly bodies: AnswerBodyReader;
  readonly retries: RetryBudget;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly monotonic: () => MonotonicMs;
  readonly report: Report;
  /** Which answers blocks prove. Absent where no answers are proven. */
  readonly proofs: Pick<Proofs, 'position' | 'proofOf'> | undefined;
  /** For what a bug throws in a request that nobody waits for any more. */
  readonly reportBug: (bug: unknown) => void;
  readonly policies: LifetimePolicies;
}

/** One question, by a flight that has its ticket. */
export interface Question {
  readonly call: Call;
  readonly request: EntryRequest;
  readonly flight: Flight;
  /** Headers that show the client's request that began the flight to the indexer. */
  readonly trace: Pairs;
  readonly ticket: Ticket;
  /** What the look-up found: too old to be a hit, but perhaps more complete than the indexer's answer. */
  readonly known: Entry | undefined;
}

/** An answer that may be cached. */
export interface IndexerAnswer extends TriedAnswer {
  readonly entry: Entry;
  /** What the body says. */
  readonly facts: BodyFacts;
  /** Has its slot until the answer is stored, or it is certain that it will not be. */
  readonly ticket: Ticket;
}

type SendResult = IndexerAnswer | ProxyError;

/**
 * Asks an indexer, and sometimes once more ({@link SecondTries}); of two answers the more complete one counts. Of several
 * indexers, another one is asked as well where an answer takes longer than nearly all do (a hedge; Dean and Barroso, The Tail
 * at Scale): the first answer counts. The other request is not aborted: the indexer would work on it all the same, and how
 * long it takes says whom to ask.
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

  /** `keep` stores the answer, before its slot goes to the next request. Frees every ticket. A throw is a bug. */
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
    if (!(first instanceof ProxyError)) first.ticket.free();
    const entered = await admission.enter(other);
    const second =
      'reason' in entered ? refusalError(other, entered) : await this.#send({ ...question, request: other }, entered);
    if (second instanceof ProxyError) {
      // Of two failures that of the second one counts, unless it only says that it does not serve the operation.
      return first instanceof ProxyError && second.wentForward && second.code !== 'not-served' ? second : first;
    }
    if (!(first instanceof ProxyError) && isLess(second.entry, first.entry)) {
      second.ticket.free();
      return first;
    }
    this.#secondTries.compare(first, second, [request.lane, lane], index);
    return second;
  }

  /** A ticket for another indexer beside one that has not answered yet; `undefined` if none is free or too many were given. */
  async #enterHedge(request: EntryRequest): Promise<Ticket | undefined> {
    const { admission, hedging } = this.#dependencies;
    if (admission.refusal(request) !== undefined || hedging?.budget.tryTake() !== true) return undefined;
    const ticket = await admission.enter(request);
    return 'reason' in ticket ? undefined : ticket;
  }

  /** One request to the indexer of a ticket, which it frees if there is no answer that may be cached. */
  async #send({ call, request, flight, trace, known }: Question, ticket: Ticket): Promise<SendResult> {
    const { indexers, pollHeads, hedging, hasReached, bodies, refusalError, proofs, monotonic, random } =
      this.#dependencies;
    const operation = call.operation.name;
    const seqno = seqnoOf(call);
    const indexer = indexers[ticket.route.index] as AskableIndexer;
    let answered: IndexerAnswer | undefined;
    const by = (error: ProxyError) => {
      const { name, head } = indexer;
      const named = indexers.length === 1 ? error : error.with({ indexer: name });
      return head.fault === 'other-chain' ? named.with({ isOfOtherChain: true }) : named;
    };
    try {
      const go = ticket.send();
      if (go !== 'go') return refusalError(request, go);
      flight.depart();
      pollHeads();
      const startedAt = monotonic();
      // Asked before it is sent: what is seen of the chain meanwhile is newer than the answer.
      const awaitedBlock = seqno === undefined || hasReached(seqno) ? undefined : seqno;
      // Taken before it is sent, too: what is read of the blocks meanwhile may be newer than the answer.
      const askedFrom = proofs?.position ?? 0;
      const { query, headers } = call.request;
      const answer = await indexer.client.fetch({ operation, query, headers: [...headers, ...trace] });
      hedging?.answered(operation, monotonic() - startedAt);
      const reading = bodies.read(call, answer);
      const facts = reading instanceof Promise ? await reading : reading;
      const { evidence } = facts;
      const proof = evidence && proofs?.proofOf(evidence, askedFrom, startedAt);
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
      answered = { entry, facts, isAbsent, isDoubtful, isRegressed, ticket };
      return answered;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      ticket.learn(outcomeOf(error));
      return error.code === 'overloaded' ? refusalError(request, NO_SOCKETS) : by(error);
    } finally {
      if (answered === undefined) ticket.free();
    }
  }

  /** The entry of an answer, from which the chain of its indexer is learned, or the failure that clients get. */
  #classify(read: ReadAnswer, { head, name: indexer }: AskableIndexer): Entry | ProxyError {
    const { indexers, random, report, policies } = this.#dependencies;
    if (read.facts.finality?.newestNow !== undefined) head.askIfDue();
    const { chainTime, fault } = head;
    const name = indexers.length === 1 ? '' : indexer;
    const by = { indexer: name, isOfOtherChain: fault === 'other-chain', random, chainTime };
    let classified = classifyAnswer(read, by, policies);
    if (!(classified instanceof ProxyError)) {
      const { chainPoint } = read.facts;
      if (!isHead(chainPoint)) head.learn(chainPoint);
      else if (head.hear(chainPoint) === undefined) classified = untrueAnswer(read);
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
