import type { Entry } from '../cache/entry.ts';
import { ProxyError } from '../errors.ts';
import type { IndexerHead } from '../indexer/indexer-head.ts';
import type { LifetimePolicies } from '../ton/lifetime.ts';
import type { Call } from '../ton/parse-call.ts';
import type { ReadAnswer } from './answer-body-reader.ts';
import { classifyAnswer } from './classify-answer.ts';
import type { Report } from './events.ts';

export interface AnswerClassifierDependencies {
  readonly head: Pick<IndexerHead, 'learn' | 'chainTime'>;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  readonly report: Report;
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
  classify(call: Call, key: string, answer: ReadAnswer): Entry | ProxyError {
    const { head, random, report } = this.#dependencies;
    const by = { random, chainTime: () => head.chainTime() };
    const classified = classifyAnswer(key, answer, by, this.#policies);
    if (!(classified instanceof ProxyError)) {
      head.learn(answer.facts.chainPoint);
      return classified;
    }
    const { code } = classified;
    if (code === 'upstream-refused-key') report({ name: 'key-refused', status: answer.status });
    if (code === 'upstream-invalid' || code === 'upstream-redirect') {
      report({ name: 'upstream-useless', operation: call.operation.name, code });
    }
    return classified;
  }
}
