import { readAddress } from './read-values.ts';
import { decodeHash } from './spellings.ts';
import type { StreamFaults } from './stream-faults.ts';
import type { Finality } from './trace.ts';

/**
 * How hashes are read: `exact` compares bytes, so that only padded standard base64 ever matches (the newest version);
 * `normalized` takes every form and refuses what is no hash (1.3).
 */
export type HashReading = 'exact' | 'normalized';

/** The server's answer to one message of a client. */
export interface Reply {
  readonly id?: string;
  readonly status?: 'subscribed' | 'unsubscribed' | 'pong';
  readonly error?: string;
}

const TYPES: ReadonlySet<unknown> = new Set([
  'transactions',
  'actions',
  'trace',
  'account_state_change',
  'jettons_change',
]);
const FINALITIES: readonly Finality[] = ['pending', 'confirmed', 'finalized'];

/** What a connection has subscribed to: the operations of the Streaming API v2, with the real server's errors. */
export class StreamSubscription {
  types: ReadonlySet<string> = new Set();
  addresses: ReadonlySet<string> = new Set();
  hashes: ReadonlySet<string> = new Set();
  #minFinality: Finality = 'finalized';
  readonly #faults: StreamFaults;
  readonly #hashReading: HashReading;

  constructor(faults: StreamFaults, hashReading: HashReading) {
    this.#faults = faults;
    this.#hashReading = hashReading;
  }

  /** Whether an event of this finality is wanted. */
  wants(finality: Finality): boolean {
    return FINALITIES.indexOf(finality) >= FINALITIES.indexOf(this.#minFinality);
  }

  /** Takes one message in. What it asks for is done whole or, with an error, not at all. */
  take(text: string): Reply {
    let message: Readonly<Record<string, unknown>>;
    try {
      message = envelopeOf(text);
    } catch (error) {
      return { error: `invalid request envelope: ${(error as Error).message}` };
    }
    const id = typeof message['id'] === 'string' ? { id: message['id'] } : {};
    try {
      return { ...id, status: this.#do(message) };
    } catch (error) {
      return { ...id, error: (error as Error).message };
    }
  }

  #do(message: Readonly<Record<string, unknown>>): NonNullable<Reply['status']> {
    switch (message['operation']) {
      case 'ping':
        return 'pong';
      case 'subscribe':
        this.#subscribe(message);
        return 'subscribed';
      case 'unsubscribe':
        this.addresses = this.addresses.difference(this.#addressesOf(message));
        this.hashes = this.hashes.difference(this.#hashesOf(message));
        return 'unsubscribed';
      default:
        throw new Error(`unknown operation: ${String(message['operation'])}`);
    }
  }

  #subscribe(message: Readonly<Record<string, unknown>>): void {
    const types = new Set(listOf(message, 'types'));
    for (const type of types) {
      if (!TYPES.has(type) || this.#faults.refusedTypes.has(type)) throw new Error(`invalid event type: ${type}`);
    }
    const [addresses, hashes] = [this.#addressesOf(message), this.#hashesOf(message)];
    if (hashes.size > 0 && !types.has('trace')) throw new Error('trace_external_hash_norms requires type "trace"');
    if (hashes.size === 0 && types.has('trace')) {
      throw new Error('trace_external_hash_norms are required for trace subscription');
    }
    if (addresses.size === 0 && [...types].some((type) => type !== 'trace')) throw new Error('addresses are required');
    const { maxAddresses } = this.#faults;
    if (addresses.size > maxAddresses) {
      throw new Error(`address limit exceeded: current 0 + new ${addresses.size} > max ${maxAddresses}`);
    }
    const minFinality = message['min_finality'];
    if (minFinality !== undefined) {
      const known = FINALITIES.find((finality) => finality === minFinality);
      if (known === undefined) throw new Error(`invalid min_finality: ${String(minFinality)}`);
      this.#minFinality = known;
    }
    this.types = types;
    this.addresses = addresses;
    this.hashes = hashes;
  }

  #addressesOf(message: Readonly<Record<string, unknown>>): Set<string> {
    const read = (text: string) => {
      const address = readAddress(text, 'spec');
      if (address === undefined) throw new Error(`invalid address: ${text}`);
      return address;
    };
    return new Set(listOf(message, 'addresses').map(read));
  }

  #hashesOf(message: Readonly<Record<string, unknown>>): Set<string> {
    const given = listOf(message, 'trace_external_hash_norms');
    if (this.#hashReading === 'exact') return new Set(given);
    const read = (text: string) => {
      const hash = decodeHash(text);
      if (hash === undefined) throw new Error(`invalid trace_external_hash_norm: ${text}`);
      return hash.toString('base64');
    };
    return new Set(given.map(read));
  }
}

function envelopeOf(text: string): Readonly<Record<string, unknown>> {
  const message: unknown = JSON.parse(text);
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new Error('json: cannot unmarshal into Go value of type Envelope');
  }
  const { id } = message as { id?: unknown };
  if (id !== undefined && typeof id !== 'string') {
    throw new Error(`json: cannot unmarshal ${typeof id} into Go struct field Envelope.id of type string`);
  }
  return message as Readonly<Record<string, unknown>>;
}

function listOf(message: Readonly<Record<string, unknown>>, name: string): string[] {
  const list = message[name] ?? [];
  if (!Array.isArray(list)) throw new Error(`invalid request: ${name} should be a list`);
  return list.map(String);
}
