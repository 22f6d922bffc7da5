import type { AdmissionGate, PermitOutcome } from '../admission/admission-gate.ts';
import { ProxyError } from '../errors.ts';
import { chainTimeOfHead } from '../ton/chain-time.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import type { Report } from './events.ts';
import type { IndexerAccess, PassageEnd } from './indexer-access.ts';

export interface AskHeadOptions {
  readonly gate: AdmissionGate;
  readonly access: IndexerAccess;
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
    const { gate, access } = options;
    if (!gate.hasFree(ON_BEHALF_OF) || access.refusal(ON_BEHALF_OF, true) !== undefined) return undefined;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const permit = await gate.acquire({ operation: ON_BEHALF_OF, priority: 'refresh', signal });
    if (typeof permit === 'string') return undefined;
    let outcome: PermitOutcome = 'ignored';
    try {
      const passage = await access.enter(ON_BEHALF_OF, OPERATION, signal);
      if (passage === 'abandoned' || 'reason' in passage) return undefined;
      let end: PassageEnd = 'unsent';
      try {
        permit.sent();
        const asked = await ask(options);
        end = asked.end;
        // The query goes on in the indexer.
        if (asked.isTimeout) outcome = 'left';
        return asked.headAt;
      } finally {
        passage.end(end);
      }
    } finally {
      permit.end(outcome);
    }
  };
}

interface Asked {
  readonly headAt: number | undefined;
  readonly end: PassageEnd;
  readonly isTimeout: boolean;
}

async function ask({ upstream, monotonic, report }: AskHeadOptions): Promise<Asked> {
  const startedAt = monotonic();
  try {
    const answer = await upstream.fetch({ operation: OPERATION, query: [], headers: [] }, TIMEOUT_MS);
    const { status, retryAfter } = answer;
    report({ name: 'upstream-answered', operation: OPERATION, status, ms: monotonic() - startedAt });
    return {
      headAt: status === 200 ? chainTimeOfHead(answer.body) : undefined,
      end: status === 429 ? { limited: retryAfter } : 'ignored',
      isTimeout: false,
    };
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    const { code, cause } = error;
    report({ name: 'upstream-failed', operation: OPERATION, code, ms: monotonic() - startedAt, cause });
    return { headAt: undefined, end: 'unsent', isTimeout: code === 'upstream-timeout' };
  }
}
