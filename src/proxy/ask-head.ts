import type { Admission, EntryRequest } from '../admission/admission.ts';
import type { Outcome } from '../admission/outcome.ts';
import { ProxyError } from '../errors.ts';
import { chainTimeOfHead } from '../ton/chain-time.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import type { Report } from './events.ts';

export interface AskHeadOptions {
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

/**
 * Asks the indexer for the time of its newest block, where nothing else waits for the indexer; see `ChainTimeOptions`.
 * How that ends says nothing about the operation that it is asked for, unless the indexer asks for a pause.
 */
export function askHeadWith(options: AskHeadOptions): () => Promise<number | undefined> {
  return async () => {
    const { admission } = options;
    if (!admission.hasFree(ON_BEHALF_OF)) return undefined;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const request: EntryRequest = { operation: ON_BEHALF_OF, key: OPERATION, priority: 'refresh', signal };
    const ticket = await admission.enter(request);
    if (ticket === 'abandoned' || 'reason' in ticket) return undefined;
    if ((await ticket.send()) !== 'go') return undefined;
    let asked: Asked = { headAt: undefined, outcome: 'unsent' };
    try {
      asked = await ask(options);
      return asked.headAt;
    } finally {
      ticket.end(asked.outcome, asked.retryAfter);
    }
  };
}

interface Asked {
  readonly headAt: number | undefined;
  /** `unsent` for what says nothing, `abandoned` where the indexer may still be working on it. */
  readonly outcome: Outcome;
  readonly retryAfter?: string | undefined;
}

async function ask({ upstream, monotonic, report }: AskHeadOptions): Promise<Asked> {
  const startedAt = monotonic();
  try {
    const answer = await upstream.fetch({ operation: OPERATION, query: [], headers: [] }, TIMEOUT_MS);
    const { status, retryAfter } = answer;
    report({ name: 'upstream-answered', operation: OPERATION, status, ms: monotonic() - startedAt });
    return {
      headAt: status === 200 ? chainTimeOfHead(answer.body) : undefined,
      outcome: status === 429 ? 'rate-limited' : 'client-error',
      retryAfter,
    };
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    const { code, cause } = error;
    report({ name: 'upstream-failed', operation: OPERATION, code, ms: monotonic() - startedAt, cause });
    return { headAt: undefined, outcome: code === 'upstream-timeout' ? 'abandoned' : 'unsent' };
  }
}
