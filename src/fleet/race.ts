import type { ProxyError } from '../errors.ts';
import type { Tried, TriedAnswer } from './second-tries.ts';

/**
 * Returns the first answer of a request and its hedge that is neither doubtful nor regressed, otherwise the first
 * answer, otherwise the failure of the request. Rejects only if the request does. `onLeft` gets the result of the other
 * one when it comes, and `onBug` gets anything that it throws.
 */
export async function raced<Answer extends TriedAnswer>(
  asked: Promise<Answer | ProxyError>,
  hedge: Promise<Answer | ProxyError>,
  onLeft: (result: Answer | ProxyError) => void,
  onBug: (bug: unknown) => void,
): Promise<Answer | ProxyError> {
  const results = [asked, hedge];
  let first: Answer | ProxyError | undefined;
  try {
    first = await Promise.any(results.map(certain))
      .catch(() => Promise.any(results.map(anyAnswer)))
      .catch(() => asked);
    return first;
  } finally {
    const isThrown = (result: Promise<Tried>) => first === undefined && result === asked;
    for (const result of results) {
      void result.then(
        (each) => each === first || onLeft(each),
        (bug: unknown) => isThrown(result) || onBug(bug),
      );
    }
  }
}

/** Rejects for a failure, and for a doubtful or regressed answer. */
async function certain<Answer extends TriedAnswer>(result: Promise<Answer | ProxyError>): Promise<Answer> {
  const answer = await anyAnswer(result);
  if (answer.isDoubtful || answer.isRegressed) throw answer;
  return answer;
}

/** Rejects for a failure. */
async function anyAnswer<Answer extends TriedAnswer>(result: Promise<Answer | ProxyError>): Promise<Answer> {
  const ended = await result;
  if ('code' in ended) throw ended;
  return ended;
}
