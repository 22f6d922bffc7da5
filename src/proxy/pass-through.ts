import type { AdmissionGate, Permit, PermitOutcome } from '../admission/admission-gate.ts';
import { ProxyError } from '../errors.ts';
import type { ForwardedAnswer, ForwardRequest, UpstreamClient } from '../upstream/upstream-client.ts';
import type { Report } from './events.ts';
import type { IndexerAccess, Passage, PassageEnd } from './indexer-access.ts';
import { overloaded, type Refusal } from './overloaded.ts';

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
 * Sends what is not cached to the indexer, within the same bounds as everything else. Its methods throw a
 * {@link ProxyError}; a request is never sent twice.
 */
export class PassThrough {
  readonly #options: PassThroughOptions;

  constructor(options: PassThroughOptions) {
    this.#options = options;
  }

  /** Throws when nothing would be sent now: to be asked before a client's body is read. */
  refuse(ourKey: boolean): void {
    const { access, gate } = this.#options;
    const refusal = access.refusal(OPERATION, gate.hasFree(OPERATION), ourKey);
    if (refusal !== undefined) throw this.#shed(refusal);
  }

  /** `ourKey`: whether the request goes with the key of the cached operations. */
  async open(request: ForwardRequest, ourKey: boolean): Promise<OpenedAnswer> {
    const { access, gate } = this.#options;
    const { signal } = request;
    const permit = await gate.acquire({ operation: OPERATION, priority: 'miss', signal });
    if (permit === 'abandoned') throw signal.reason;
    if (typeof permit === 'string') throw this.#shed({ reason: permit, waitMs: 0 });
    let outcome: PermitOutcome | undefined = 'ignored';
    try {
      const passage = await access.enter(OPERATION, request.target, signal, ourKey);
      if (passage === 'abandoned') throw signal.reason;
      if ('reason' in passage) throw this.#shed(passage);
      // Whoever gives up from here on leaves a query behind that the indexer still works on.
      outcome = 'left';
      const answer = await this.#send(request, permit, passage);
      outcome = undefined;
      // With the head there the query is over; how long the body streams is the client's doing as well.
      return { ...answer, end: () => permit.end('heard') };
    } catch (error) {
      if (error instanceof ProxyError && !signal.aborted && error.wentForward) {
        outcome = error.code === 'upstream-timeout' ? 'timed-out' : 'ignored';
      }
      throw error;
    } finally {
      if (outcome !== undefined) permit.end(outcome);
    }
  }

  async #send(request: ForwardRequest, permit: Permit, passage: Passage): Promise<ForwardedAnswer> {
    const { upstream, monotonic, report } = this.#options;
    const startedAt = monotonic();
    let end: PassageEnd = 'unsent';
    try {
      permit.sent();
      const answer = await upstream.forward(request);
      const { status, headers } = answer;
      report({ name: 'upstream-answered', operation: OPERATION, status, ms: monotonic() - startedAt });
      end = status === 429 ? { limited: [headers['retry-after']].flat()[0] } : status >= 500 ? 'failed' : 'ok';
      return answer;
    } catch (error) {
      if (error instanceof ProxyError && !request.signal.aborted) {
        // One path that resets its connections must not cut off the operations: it counts for what is passed alone.
        end = 'failed';
        const { code, cause } = error;
        report({ name: 'upstream-failed', operation: OPERATION, code, ms: monotonic() - startedAt, cause });
      }
      throw error;
    } finally {
      passage.end(end);
    }
  }

  #shed(refusal: Refusal): ProxyError {
    this.#options.report({ name: 'shed', operation: OPERATION, reason: refusal.reason });
    return overloaded(this.#options.random, refusal);
  }
}
