import type { FinishedRequest } from '../../answer/finished-request.ts';
import { failedOutcome } from '../../answer/phase.ts';
import type { Requester } from '../../clients/client-addresses.ts';
import { failure, ProxyError } from '../../errors.ts';
import type { RequestHeaders } from '../../ton/parse-call.ts';
import type { PassedRequest, PassThrough } from './pass-on.ts';

export interface ReportedPassDependencies {
  readonly operation: 'passthrough' | 'streaming';
  readonly pass: PassThrough;
  readonly requesterOf: (socket: PassedRequest['request']['socket'], headers: RequestHeaders) => Requester;
  readonly report: (event: FinishedRequest) => void;
}

/**
 * True for the statuses by which a gateway in front of an indexer reports that the indexer does not work, such as 502 to
 * 504, and a CDN's 520 to 530. An indexer itself answers 500 and 501.
 */
const isOfGateway = (status: number): boolean => status >= 502;

/** The same pass-through, which reports how each request ended. */
export function reportedPass({ operation, pass, requesterOf, report }: ReportedPassDependencies): PassThrough {
  const failedBy = ({ request, target }: PassedRequest) => ({
    operation,
    // Two POSTs differ in their bodies, and each stream is a connection of its own.
    key: operation === 'streaming' || request.method === 'POST' ? undefined : target,
    requester: requesterOf(request.socket, request.headers),
  });
  return async (passed) => {
    try {
      const end = await pass(passed);
      report({ name: 'answered', operation, outcome: end.outcome });
      if (end.isOurs && isOfGateway(end.status))
        report({ name: 'failure-passed', ...failedBy(passed), status: end.status });
      return end;
    } catch (thrown) {
      const error = thrown instanceof ProxyError ? thrown : failure('internal', { cause: thrown });
      const outcome = failedOutcome(error);
      if (outcome === 'client-closed-request') report({ name: outcome, operation });
      else report({ name: 'answered', operation, outcome });
      if (outcome === 'failed') report({ name: 'failed', ...failedBy(passed), error });
      throw thrown;
    }
  };
}
