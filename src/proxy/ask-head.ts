import type { Admission } from '../admission/admission.ts';
import type { EntryRequest } from '../admission/guard.ts';
import type { Outcome } from '../admission/outcome.ts';
import { ProxyError } from '../errors.ts';
import { type Head, headIn } from '../ton/chain-time.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { headerText } from './classify-answer.ts';
import type { Report } from './events.ts';

export interface AskHeadDependencies {
  readonly admission: Admission;
  readonly upstream: UpstreamClient;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly report: Report;
}

const OPERATION = 'masterchainInfo';

/** The head is asked for with the slots and the circuit breaker of this operation. */
const ON_BEHALF_OF = 'adjacentTransactions';

/** No request waits longer for the head. */
const TIMEOUT_MS = 1000;

/** The newest block, as the indexer names it. */
export interface HeadAnswer extends Head {
  /** The indexer's `X-API-Version`. */
  readonly apiVersion: string | undefined;
}

/**
 * Asks the indexer for its newest block, unless other requests wait for the indexer; `undefined` when it is not
 * learned. A failure does not count in the circuit breaker of the operation whose slot it uses; only a 429 counts, as a
 * pause.
 */
export function askHeadWith(dependencies: AskHeadDependencies): () => Promise<HeadAnswer | undefined> {
  return async () => {
    const { admission } = dependencies;
    if (!admission.hasFree(ON_BEHALF_OF)) return undefined;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const request: EntryRequest = { operation: ON_BEHALF_OF, key: OPERATION, priority: 'refresh', signal };
    const ticket = await admission.enter(request);
    if (ticket === 'abandoned' || 'reason' in ticket) return undefined;
    if ((await ticket.send()) !== 'go') return undefined;
    let asked: Asked = { head: undefined, outcome: 'unsent' };
    try {
      asked = await ask(dependencies);
      return asked.head;
    } finally {
      ticket.end(asked.outcome, asked.retryAfter);
    }
  };
}

interface Asked {
  readonly head: HeadAnswer | undefined;
  /** `unsent` for a failure that shall not count, `abandoned` where the indexer may still be working on the request. */
  readonly outcome: Outcome;
  readonly retryAfter?: string | undefined;
}

async function ask({ upstream, monotonic, report }: AskHeadDependencies): Promise<Asked> {
  const startedAt = monotonic();
  try {
    const answer = await upstream.fetch({ operation: OPERATION, query: [], headers: [] }, TIMEOUT_MS);
    const { status, retryAfter } = answer;
    report({ name: 'upstream-answered', operation: OPERATION, status, ms: monotonic() - startedAt });
    return {
      head: status === 200 ? { ...headIn(answer.body), apiVersion: headerText(answer.apiVersion) } : undefined,
      outcome: status === 429 ? 'rate-limited' : 'client-error',
      retryAfter,
    };
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    const { code, cause } = error;
    report({ name: 'upstream-failed', operation: OPERATION, code, ms: monotonic() - startedAt, cause });
    return { head: undefined, outcome: code === 'upstream-timeout' ? 'abandoned' : 'unsent' };
  }
}
