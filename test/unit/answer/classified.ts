import { factsOf } from '../../../src/answer/body-facts.ts';
import { classifyAnswer } from '../../../src/answer/classify-answer.ts';
import type { Entry } from '../../../src/cache/entry.ts';
import { ProxyError } from '../../../src/errors.ts';
import type { UpstreamAnswer } from '../../../src/indexer/upstream-client.ts';
import { POLICIES } from '../../../src/ton/lifetime-table.ts';
import type { Call } from '../../../src/ton/parse-call.ts';
import { callOf, HASH_HEX } from '../ton/requests.ts';

/** The instant of the request to the indexer, which answers 300 ms later. */
export const ASKED_AT = 1_780_000_000_000;
export const OUT = callOf('adjacentTransactions', `hash=${HASH_HEX}&direction=out`);
export const SHARDS = callOf('masterchainBlockShards', 'seqno=7');
export const PENDING = callOf('pendingTraces', `ext_msg_hash=${HASH_HEX}`);
const BLOCK_SET = '{"blocks":[{"workchain":-1,"seqno":7}]}';

/** The parts of the indexer's answer that a test sets. The others are those of a valid answer to `SHARDS`. */
export interface Sent extends Partial<Omit<UpstreamAnswer, 'body'>> {
  readonly body?: string | Buffer;
  /** The chain time; `undefined` if it is unknown. Default: the instant at which the answer was received. */
  readonly chainAt?: number | undefined;
  /** See `ReadAnswer`. */
  readonly awaitedBlock?: number | undefined;
}

/** Classifies an answer without jitter, with the lifetimes of `POLICIES`. */
export function classify(call: Call, sent: Sent = {}): Entry | ProxyError {
  const { body = BLOCK_SET, chainAt, awaitedBlock, ...more } = { chainAt: ASKED_AT + 300, ...sent };
  const answer: UpstreamAnswer = {
    status: 200,
    contentType: 'application/json',
    apiVersion: '1.2.3',
    retryAfterMs: undefined,
    ageValueSeconds: 0,
    body: typeof body === 'string' ? Buffer.from(body) : body,
    askedAt: ASKED_AT,
    receivedAt: ASKED_AT + 300,
    ...more,
  };
  const facts = factsOf(call, answer.status, answer.body);
  return classifyAnswer(
    { call, key: 'the key', answer, facts, awaitedBlock },
    { indexer: '', isLocal: false, random: () => 0, chainTime: chainAt },
    POLICIES,
  );
}

export function entryOf(call: Call, sent?: Sent): Entry {
  const classified = classify(call, sent);
  if (classified instanceof ProxyError) throw classified;
  return classified;
}

export function failureOf(call: Call, sent: Sent): ProxyError {
  const classified = classify(call, sent);
  if (!(classified instanceof ProxyError)) throw new Error('it was taken for an answer');
  return classified;
}
