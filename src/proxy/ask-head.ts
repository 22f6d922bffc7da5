import type { Admission, EntryRequest } from '../admission/admission.ts';
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

/** It is asked on behalf of this operation, within its bounds. */
const ON_BEHALF_OF = 'adjacentTransactions';

/** Nobody waits longer for it. */
const TIMEOUT_MS = 1000;

/** What the indexer says of its newest block. */
export interface HeadAnswer extends Head {
  /** The indexer's `X-API-Version`. */
  readonly apiVersion: string | undefined;
}

/**
 * Asks the indexer for its newest block, where nothing else waits for the indexer; `undefined` where it does not say it.
 * How that ends says nothing about the operation that it is asked for, unless the indexer asks for a pause.
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
  /** `unsent` for what says nothing, `abandoned` where the indexer may still be working on it. */
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
