import type { AdmissionGate } from '../admission/admission-gate.ts';
import { ProxyError } from '../errors.ts';
import type { ForwardedAnswer, ForwardRequest, UpstreamClient } from '../upstream/upstream-client.ts';
import type { UpstreamPause } from '../upstream/upstream-pause.ts';
import type { Report } from './events.ts';
import { overloaded } from './load-entry.ts';

export interface PassThroughOptions {
  readonly gate: AdmissionGate;
  readonly pause: UpstreamPause;
  readonly upstream: UpstreamClient;
  readonly random: () => number;
  readonly monotonic: () => number;
  readonly report: Report;
}

/** An answer under way: its permit is given back when `end` is called, which must happen once its body has ended. */
export interface OpenedAnswer extends ForwardedAnswer {
  readonly end: () => void;
}

/**
 * Sends what is not cached to the indexer, within the same bound as everything else. Throws a {@link ProxyError}; a
 * request is never sent twice.
 */
export class PassThrough {
  readonly #options: PassThroughOptions;

  constructor(options: PassThroughOptions) {
    this.#options = options;
  }

  async open(request: ForwardRequest): Promise<OpenedAnswer> {
    const { gate, pause, upstream, random, report } = this.#options;
    const shed = (reason: 'queue-full' | 'paused', waitMs = 0): ProxyError => {
      report({ name: 'shed', operation: 'passThrough', reason });
      return overloaded(random, waitMs);
    };
    if (pause.remainingMs > 0) throw shed('paused', pause.remainingMs);
    const permit = await gate.acquire(request.signal);
    if (permit === 'queue-full') throw shed('queue-full');
    if (permit === 'abandoned') throw request.signal.reason;
    try {
      return { ...(await this.#send(upstream, request)), end: () => permit.release() };
    } catch (error) {
      permit.release();
      throw error;
    }
  }

  async #send(upstream: UpstreamClient, request: ForwardRequest): Promise<ForwardedAnswer> {
    const { monotonic, report } = this.#options;
    const startedAt = monotonic();
    const operation = 'passThrough';
    try {
      const answer = await upstream.forward(request);
      report({ name: 'upstream-answered', operation, status: answer.status, ms: monotonic() - startedAt });
      return answer;
    } catch (error) {
      if (error instanceof ProxyError) {
        const ms = monotonic() - startedAt;
        report({ name: 'upstream-failed', operation, code: error.code, ms, cause: error.cause });
      }
      throw error;
    }
  }
}
