import type { Entry } from '../cache/entry.ts';
import { ProxyError } from '../errors.ts';
import type { LifetimePolicies } from '../ton/lifetime.ts';
import { askedSeqno } from '../ton/masterchain-seqno.ts';
import type { Call } from '../ton/parse-call.ts';
import { shortListKey } from '../ton/short-list.ts';
import type { ReadAnswer } from './answer-body-reader.ts';
import type { ChainHead } from './chain-head.ts';
import type { ChainTime } from './chain-time.ts';
import { type ClassifiedAnswer, classifyAnswer } from './classify-answer.ts';
import type { Report } from './events.ts';

export interface AnswerClassifierDependencies {
  readonly chainTime: ChainTime;
  readonly chainHead: ChainHead;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly report: Report;
}

/** An answer that may be cached, and what it was classified from. */
export interface Classified extends ClassifiedAnswer {
  readonly answer: ReadAnswer;
  /** The chain time that it was classified by. */
  readonly chainAt: number | undefined;
}

/** Classifies answers by what is known of the chain, and learns of the chain from them. */
export class AnswerClassifier {
  readonly #dependencies: AnswerClassifierDependencies;
  readonly #policies: LifetimePolicies;

  constructor(dependencies: AnswerClassifierDependencies, policies: LifetimePolicies) {
    this.#dependencies = dependencies;
    this.#policies = policies;
  }

  /** The entry of an answer to `call`, whose key is `key`, or the failure that clients get. */
  classify(call: Call, key: string, answer: ReadAnswer): Classified | ProxyError {
    const { chainTime, report } = this.#dependencies;
    const operation = call.operation.name;
    const chainAt = chainTime.newestAt;
    const classified = this.#classifyBy(chainAt, call, key, answer);
    if (!(classified instanceof ProxyError)) {
      chainTime.learn(classified.showsChainAt);
      this.#learnSeqno(call, answer);
      return { ...classified, answer, chainAt };
    }
    const { code } = classified;
    if (code === 'upstream-refused-key') report({ name: 'key-refused', status: answer.status });
    if (code === 'upstream-invalid' || code === 'upstream-redirect') {
      report({ name: 'upstream-useless', operation, code });
    }
    return classified;
  }

  /**
   * The entry of an answer by the newest chain time, if it gains by that. Then the head of the chain is asked for, at
   * most once in 10 s: this wait must neither hold a slot nor count as the indexer's latency. At once if the head is
   * known.
   */
  upToDate(call: Call, key: string, classified: Classified): Entry | Promise<Entry> {
    if (!classified.gainsByChainTime) return classified.entry;
    const newestAt = this.#dependencies.chainTime.upToDate();
    return newestAt instanceof Promise
      ? newestAt.then((at) => this.#againBy(at, call, key, classified))
      : this.#againBy(newestAt, call, key, classified);
  }

  #againBy(newestAt: number | undefined, call: Call, key: string, { entry, answer, chainAt }: Classified): Entry {
    if (newestAt === chainAt) return entry;
    const again = this.#classifyBy(newestAt, call, key, answer);
    return again instanceof ProxyError ? entry : again.entry;
  }

  #classifyBy(chainAt: number | undefined, call: Call, key: string, answer: ReadAnswer): ClassifiedAnswer | ProxyError {
    const options = { policies: this.#policies, chainAt };
    return classifyAnswer(keyOf(call, key, answer), answer, options, this.#dependencies.random);
  }

  #learnSeqno(call: Call, { status, facts }: ReadAnswer): void {
    const { chainHead } = this.#dependencies;
    const seqno = askedSeqno(call);
    if (status === 404 && seqno !== undefined) chainHead.learnAbsent(seqno);
    else chainHead.learn(facts.showsSeqno);
  }
}

/** The key to store an answer under: a short list has one that calls with different limits share. */
function keyOf(call: Call, key: string, { facts }: ReadAnswer): string {
  return (facts.isShortList ? shortListKey(call, key) : undefined) ?? key;
}
