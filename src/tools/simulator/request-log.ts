import { EventEmitter, once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { IndexerOperation } from './operations.ts';

/** A request as it arrived. */
export interface LoggedRequest {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly target: string;
  readonly operation: IndexerOperation;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** By the indexer's clock, epoch ms. */
  readonly at: number;
}

const KEPT = 1_000;

/** The requests that have arrived at the simulated indexer. Emits `request` for each, before it is answered. */
export class RequestLog extends EventEmitter<{ request: [LoggedRequest] }> {
  /** Requests since the start or the last `reset`. */
  total = 0;
  /** The last 1,000 of them, oldest first. */
  recent: LoggedRequest[] = [];
  /** Requests that have arrived and not ended. A request whose client has left counts until its query ends. */
  inHand = 0;
  maxInHand = 0;
  readonly #byOperation = new Map<IndexerOperation, number>();

  count(operation: IndexerOperation): number {
    return this.#byOperation.get(operation) ?? 0;
  }

  /** Resolves as soon as `total` has reached this number. */
  async arrived(total: number): Promise<void> {
    while (this.total < total) await once(this, 'request');
  }

  /** Counts from zero again. Requests under way stay under way. */
  reset(): void {
    this.total = 0;
    this.#byOperation.clear();
    this.recent = [];
    this.maxInHand = this.inHand;
  }

  /** Adds a request; the returned function marks it as ended. */
  begin(request: LoggedRequest): () => void {
    this.total++;
    this.#byOperation.set(request.operation, this.count(request.operation) + 1);
    this.recent.push(request);
    if (this.recent.length > KEPT) this.recent.shift();
    this.inHand++;
    this.maxInHand = Math.max(this.maxInHand, this.inHand);
    this.emit('request', request);
    return () => void this.inHand--;
  }
}
