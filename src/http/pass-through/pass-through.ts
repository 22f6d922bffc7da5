import { pipeline } from 'node:stream/promises';
import type { Refusal } from '../../admission/guard.ts';
import type { OurCredentials } from '../../indexer/credentials.ts';
import type { HeadPolls } from '../../indexer/head-polls.ts';
import type { ForwardedAnswer, UpstreamClient } from '../../indexer/upstream-client.ts';
import { learningHead } from './learn-head.ts';
import {
  type PassedEnd,
  type PassedRequest,
  type PassedTo,
  type PassOnParts,
  type PassThrough,
  passOnWith,
} from './pass-on.ts';

/** An indexer that gets passed-through requests. */
interface PassedToIndexer {
  readonly client: Pick<UpstreamClient, 'forward' | 'name'>;
  readonly polls: Pick<HeadPolls, 'hear'>;
  /** For requests without a key; never sent to another indexer. */
  readonly ours: OurCredentials | undefined;
}

export interface PassThroughDependencies extends PassOnParts {
  /** In the order of the routes of admission. */
  readonly indexers: readonly PassedToIndexer[];
  /** Polls the heads of the indexers in the background, if it is time. */
  readonly pollHeads: () => void;
  /** The maximum number of answers on their way to clients. */
  readonly maxTransfers: number;
  /** True if the cached operations are sent with credentials of ours. */
  readonly hasOurKey: boolean;
}

/** Pass-through, and access to an answer for other uses. */
export interface OpenPassThrough {
  readonly pass: PassThrough;
  /**
   * Sends a request and gives the answer to `use`. The answer counts as a transfer until `use` settles. Rejects with a
   * {@link ProxyError} without an answer, and with the rejection of `use`.
   */
  readonly take: (passed: PassedRequest, use: (answer: ForwardedAnswer) => Promise<void>) => Promise<PassedEnd>;
}

/**
 * Sends requests that are not cached to the indexer, and streams the answers back. Once the head of an
 * answer has arrived, the indexer's query is over and the slot is free. From then on the body counts as a transfer,
 * because its client decides how long it takes.
 */
export function openPassThrough(dependencies: PassThroughDependencies): OpenPassThrough {
  const { indexers, pollHeads, maxTransfers } = dependencies;
  const upstreams = indexers.map((indexer) => upstreamOf(indexer, pollHeads, indexers.length === 1));
  const passOn = passOnWith({ ...dependencies, upstreams, repeats: true });
  /** Answers on their way to clients now. */
  let transfers = 0;
  const take: OpenPassThrough['take'] = async (passed, use) => {
    const { answer, isOurs } = await passOn(passed, () => (transfers >= maxTransfers ? TOO_MANY_TRANSFERS : undefined));
    transfers++;
    try {
      await use(answer);
      return { outcome: 'miss', status: answer.status, isOurs };
    } finally {
      transfers--;
    }
  };
  const pass: PassThrough = (passed) => take(passed, (answer) => transfer(answer, passed));
  return { pass, take };
}

const TOO_MANY_TRANSFERS: Refusal = { reason: 'transfers-full', retryAfterMs: 0 };

function upstreamOf(
  { client, polls, ours }: PassedToIndexer,
  pollHeads: () => void,
  isAlone: boolean,
): PassedTo<ForwardedAnswer> {
  return {
    ours,
    name: isAlone ? undefined : client.name,
    forward: async (request) => {
      pollHeads();
      const answer = await client.forward(request);
      return { ...answer, body: learningHead(request.target, answer, (named) => void polls.hear(named)) };
    },
  };
}

/** Streams an answer to its client. Never rejects. */
export async function transfer(
  answer: Omit<ForwardedAnswer, 'body'> & { readonly body: AsyncIterable<Buffer> },
  { response, headersOf }: PassedRequest,
): Promise<void> {
  try {
    response.writeHead(answer.status, headersOf(answer));
    await pipeline(answer.body, response);
  } catch {
    // One side disconnected in the middle. The end of the connection tells the other side.
    response.destroy();
  }
}
