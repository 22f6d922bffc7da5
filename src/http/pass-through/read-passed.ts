import { Readable } from 'node:stream';
import type { ForwardedAnswer } from '../../indexer/upstream-client.ts';
import { type Outcome, outcomeOfPassed, outcomeOfStatus } from '../../outcomes.ts';
import { holdsOwnError, shortBody } from './own-error.ts';

/** The head of an answer to a passed-through request, and its body, which is still to come. */
type PassedHead = Omit<ForwardedAnswer, 'retryAfterMs'>;

/** An answer with its outcome. */
export interface ReadPassed<Answer extends PassedHead> {
  readonly outcome: Outcome;
  readonly answer: Answer;
}

/**
 * Reads the outcome of an answer. The body of a 401 to a request with our key decides, so it is read here, and the answer
 * gets a copy. A redirect loses its body, which may repeat the indexer's address. A body that is not needed is read to keep
 * the connection. Never rejects.
 */
export async function readPassed<Answer extends PassedHead>(
  answer: Answer,
  hadOurKey: boolean,
): Promise<ReadPassed<Answer>> {
  const { status, headers, leadsTo } = answer;
  const outcomeIf = (isOwnError: boolean) =>
    outcomeOfPassed({ status, hadOurKey, isOwnError, leadsElsewhere: leadsTo !== undefined });
  const isRefusal = outcomeOfStatus(status) === 'refused-key' && hadOurKey;
  const isRedirect = outcomeOfStatus(status) === 'redirect' && (leadsTo ?? headers.location) !== undefined;
  if (!isRefusal && !isRedirect) return { outcome: outcomeIf(false), answer };
  const reading = shortBody(answer.body);
  if (isRedirect) return { outcome: outcomeIf(false), answer: withoutBody(answer) };
  const bytes = status === 401 ? await reading : undefined;
  const isOwnError = bytes !== undefined && (await holdsOwnError(bytes, headers['content-encoding']));
  return { outcome: outcomeIf(isOwnError), answer: bytes === undefined ? answer : { ...answer, body: bodyOf(bytes) } };
}

function withoutBody<Answer extends PassedHead>(answer: Answer): Answer {
  const { 'content-type': _type, 'content-encoding': _encoding, ...headers } = answer.headers;
  return { ...answer, headers: { ...headers, 'content-length': '0' }, body: bodyOf(Buffer.alloc(0)) };
}

/** A body that was read, in the form of one that is still to come. */
function bodyOf(bytes: Buffer): Readable & { readonly complete: true } {
  return Object.assign(Readable.from(bytes.length === 0 ? [] : [bytes]), { complete: true } as const);
}
