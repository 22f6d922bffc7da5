import type { StreamFaults } from './faults.ts';
import { FINALITIES, type SimulatedFinality } from './trace.ts';

/** The server's answer to one message of a client. */
export interface Reply {
  readonly id?: string;
  readonly status?: 'subscribed' | 'unsubscribed' | 'pong';
  readonly error?: string;
}

/** One operation, as a client sends it. */
interface ClientOperation {
  readonly operation: string;
  readonly id?: string;
  readonly types?: readonly string[];
  readonly addresses?: readonly string[];
  readonly trace_external_hash_norms?: readonly string[];
  readonly min_finality?: SimulatedFinality;
}

const TYPES = ['transactions', 'actions', 'trace', 'account_state_change', 'jettons_change'];

/** What a connection has subscribed to: the operations of the Streaming API v2, with the real server's errors. */
export class StreamSubscription {
  types: ReadonlySet<string> = new Set();
  addresses: ReadonlySet<string> = new Set();
  /** As they were sent: the newest server compares bytes, so only padded standard base64 ever matches. */
  hashes: ReadonlySet<string> = new Set();
  /** Traces of which it was sent something that was not final. */
  readonly sentNonFinal = new Set<string>();
  #minFinality: SimulatedFinality = 'finalized';
  readonly #faults: StreamFaults;

  constructor(faults: StreamFaults) {
    this.#faults = faults;
  }

  /** Whether an event of this finality is wanted. */
  wants(finality: SimulatedFinality): boolean {
    return FINALITIES.indexOf(finality) >= FINALITIES.indexOf(this.#minFinality);
  }

  /** Takes one message in. What it asks for is done whole or, with an error, not at all. */
  take(text: string): Reply {
    const message: ClientOperation = JSON.parse(text);
    const id = message.id === undefined ? {} : { id: message.id };
    if (message.operation === 'ping') return { ...id, status: 'pong' };
    const addresses = new Set(message.addresses);
    const hashes = new Set(message.trace_external_hash_norms);
    if (message.operation === 'unsubscribe') {
      this.addresses = this.addresses.difference(addresses);
      this.hashes = this.hashes.difference(hashes);
      return { ...id, status: 'unsubscribed' };
    }
    const types = new Set(message.types);
    const error = this.#problemOf([...types], addresses.size, hashes.size);
    if (error !== undefined) return { ...id, error };
    this.#minFinality = message.min_finality ?? this.#minFinality;
    Object.assign(this, { types, addresses, hashes });
    return { ...id, status: 'subscribed' };
  }

  #problemOf(types: readonly string[], addresses: number, hashes: number): string | undefined {
    const { refusedTypes, maxAddresses } = this.#faults;
    const wrong = types.find((type) => !TYPES.includes(type) || refusedTypes.has(type));
    if (wrong !== undefined) return `invalid event type: ${wrong}`;
    if (hashes > 0 !== types.includes('trace'))
      return 'type "trace" requires trace_external_hash_norms, and they require it';
    if (addresses === 0 && types.some((type) => type !== 'trace')) return 'addresses are required';
    return addresses > maxAddresses
      ? `address limit exceeded: current 0 + new ${addresses} > max ${maxAddresses}`
      : undefined;
  }
}
