import { Circuit, type CircuitChange, type CircuitOptions } from './circuit.ts';

/**
 * How a call ended. `unreachable` (no connection, or it broke before an answer) is a failure of all operations.
 * `ignored` is an answer that says nothing about health (404, 422, 429, a refused key): it counts for nothing, but the
 * indexer did answer, so a probe that ends so has succeeded. `unsent` gives the pass back.
 */
export type CallOutcome = 'ok' | 'failed' | 'unreachable' | 'ignored' | 'unsent';

/** The right to send one call. To be ended exactly once; what comes after that does nothing. */
export interface BreakerPass {
  end(outcome: CallOutcome): void;
}

/** An operation was cut off (or stays so, when a probe failed), or is called again. */
export type BreakerTransition<Operation extends string> = CircuitChange & { readonly operation: Operation };

export interface OperationBreakerOptions<Operation extends string> extends CircuitOptions {
  /** All there are: connection failures count for each. */
  readonly operations: readonly Operation[];
  readonly onTransition: (transition: BreakerTransition<Operation>) => void;
}

/**
 * Stops calling an operation that fails, and no other. While it is open every caller is turned away at once, and after
 * each rest one probe decides.
 */
export class OperationBreaker<Operation extends string> {
  readonly #circuits: ReadonlyMap<Operation, Circuit>;

  constructor(options: OperationBreakerOptions<Operation>) {
    const { operations, onTransition } = options;
    this.#circuits = new Map(
      operations.map((operation) => [
        operation,
        new Circuit(options, (change) => onTransition({ operation, ...change })),
      ]),
    );
  }

  /** Whether a call may be sent now: to be asked last of all, right before it is. */
  admit(operation: Operation, key: string): BreakerPass | 'open' {
    const admitted = this.#circuit(operation).admit(key);
    return admitted === 'open' ? 'open' : this.#pass(operation, key, admitted === 'probe');
  }

  /** Whether every call would be turned away now. */
  isOpen(operation: Operation): boolean {
    return this.#circuit(operation).isOpen;
  }

  /** Milliseconds until the operation has rested; 0 while it is closed, and while its probe is under way. */
  retryAfterMs(operation: Operation): number {
    return this.#circuit(operation).retryAfterMs;
  }

  #pass(operation: Operation, key: string, isProbe: boolean): BreakerPass {
    let ended = false;
    return {
      end: (outcome) => {
        if (ended) return;
        ended = true;
        if (outcome === 'unreachable') this.#countForAll(key);
        if (isProbe) this.#decide(operation, key, outcome);
        else if (outcome === 'ok' || outcome === 'failed') this.#circuit(operation).count(key, outcome === 'failed');
      },
    };
  }

  /** An open circuit, that of a probe among them, does not count. */
  #countForAll(key: string): void {
    for (const circuit of this.#circuits.values()) circuit.count(key, true);
  }

  #decide(operation: Operation, key: string, outcome: CallOutcome): void {
    const circuit = this.#circuit(operation);
    if (outcome === 'unsent') circuit.probeUnsent();
    else if (outcome === 'failed' || outcome === 'unreachable') circuit.probeFailed(key);
    else circuit.probeSucceeded();
  }

  #circuit(operation: Operation): Circuit {
    const circuit = this.#circuits.get(operation);
    if (circuit === undefined) throw new Error(`no such operation: ${operation}`);
    return circuit;
  }
}
