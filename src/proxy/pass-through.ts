import type { AdmissionGate, Permit, PermitOutcome } from '../admission/admission-gate.ts';
import { ProxyError } from '../errors.ts';
import type { ForwardedAnswer, ForwardRequest, UpstreamClient } from '../upstream/upstream-client.ts';
import type { Report } from './events.ts';
import type { IndexerAccess, Passage, PassageEnd, Refusal } from './indexer-access.ts';
import { overloaded } from './overloaded.ts';

export interface PassThroughOptions {
  readonly gate: AdmissionGate;
  readonly access: IndexerAccess;
  readonly upstream: UpstreamClient;
  readonly random: () => number;
  readonly monotonic: () => number;
  readonly report: Report;
}

/** An answer under way: its permit is given back when `end` is called, which must happen once its body has ended. */
export interface OpenedAnswer extends ForwardedAnswer {
  readonly end: () => void;
}

const OPERATION = 'passThrough';

/**
 * Sends what is not cached to the indexer, within the same bounds as everything else. Throws a {@link ProxyError}; a
 * request is never sent twice.
 */
export class PassThrough {
  readonly #options: PassThroughOptions;

  constructor(options: PassThroughOptions) {
    this.#options = options;
  }

  async open(request: ForwardRequest): Promise<OpenedAnswer> {
    const { access, gate } = this.#options;
    const { signal } = request;
    const refusal = access.refusal(OPERATION);
    if (refusal !== undefined) throw this.#shed(refusal);
    const permit = await gate.acquire({ operation: OPERATION, priority: 'miss', signal });
    if (permit === 'abandoned') throw signal.reason;
    if (typeof permit === 'string') throw this.#shed({ reason: permit, waitMs: 0 });
    try {
      const passage = await access.enter(OPERATION, request.target, signal);
      if (passage === 'abandoned') throw signal.reason;
      if ('reason' in passage) throw this.#shed(passage);
      return await this.#send(request, permit, passage);
    } catch (error) {
      permit.end(permitOutcomeOf(error));
      throw error;
    }
  }

  async #send(request: ForwardRequest, permit: Permit, passage: Passage): Promise<OpenedAnswer> {
    const { upstream, monotonic, report } = this.#options;
    const startedAt = monotonic();
    let end: PassageEnd = 'unsent';
    try {
      permit.sent();
      const answer = await upstream.forward(request);
      const { status } = answer;
      report({ name: 'upstream-answered', operation: OPERATION, status, ms: monotonic() - startedAt });
      end = status === 429 ? { limited: [answer.headers['retry-after']].flat()[0] } : status >= 500 ? 'failed' : 'ok';
      // How long a body streams is the client's doing as well, so its end tells no latency.
      return { ...answer, end: () => permit.end('ignored') };
    } catch (error) {
      if (error instanceof ProxyError && error.wentForward) {
        const { code, cause } = error;
        end = code === 'upstream-unreachable' ? 'unreachable' : 'failed';
        report({ name: 'upstream-failed', operation: OPERATION, code, ms: monotonic() - startedAt, cause });
      }
      throw error;
    } finally {
      passage.end(end);
    }
  }

  #shed({ reason, waitMs }: Refusal): ProxyError {
    this.#options.report({ name: 'shed', operation: OPERATION, reason });
    return overloaded(this.#options.random, waitMs);
  }
}

function permitOutcomeOf(error: unknown): PermitOutcome {
  return error instanceof ProxyError && error.code === 'upstream-timeout' ? 'timed-out' : 'ignored';
}
