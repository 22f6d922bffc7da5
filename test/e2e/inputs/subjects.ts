import { addressSpellings, friendlyBytes, hashSpellings } from '../../../src/tools/simulator/spellings.ts';
import type { Trace } from '../../../src/tools/simulator/trace.ts';
import type { World } from '../world.ts';

/** A tag byte of a friendly address outside of the standard. */
const UNKNOWN_TAG = 0x22;

/** The subjects of the table's rows: values by their placeholders, such as `{hash.hex}`. */
export class Subjects {
  readonly #values: ReadonlyMap<string, string>;

  /** Finds things in the world that have answers of their own, and advances time until they exist. */
  constructor(world: World) {
    const { chain } = world.indexer;
    const [large, other] = [pendingTrace(world), pendingTrace(world)];
    const middle = chain
      .recentTraces(200)
      .flatMap(({ transactions }) => transactions)
      .find(({ hash }) => chain.parent(hash) !== undefined && chain.children(hash).length > 1);
    if (middle === undefined) throw new Error('no transaction with a parent and children');
    world.advanceTo(Math.max(large.emulatedAt, other.emulatedAt));
    const seqno = world.indexer.chain.headSeqno;
    this.#values = new Map([
      ...named('hash', hashSpellings(Buffer.from(middle.hash, 'base64'))),
      // Another one that exists, with another answer than the first.
      ...named('parent', hashSpellings(Buffer.from(middle.parent?.hash ?? '', 'base64'))),
      ...named('message', hashSpellings(Buffer.from(large.externalHash, 'base64'))),
      ...named('second', hashSpellings(Buffer.from(other.externalHash, 'base64'))),
      ...named('account', addressSpellings(senderOf(large))),
      ['account.unknownTag', friendlyBytes(UNKNOWN_TAG, senderOf(large)).toString('base64url')],
      ...named('stranger', addressSpellings(senderOf(other))),
      ['seqno', String(seqno)],
      ['earlier', String(seqno - 1)],
      ['later', String(seqno + 100_000)],
      ['wrapped', String(2 ** 32 + seqno)],
    ]);
  }

  /**
   * Inserts the values into a template, percent-encoded; `{hash.base64:raw}` unchanged, `{hash.base64:spaced}` with
   * spaces for the pluses, and `{hash.base64:lower}` encoded in lower case.
   */
  fill(template: string): string {
    return template.replaceAll(
      /\{([\w.]+)(?::(raw|spaced|lower))?\}/g,
      (placeholder, name: string, writing: string) => {
        const value = this.#values.get(name);
        if (value === undefined) throw new Error(`nothing is called ${placeholder}`);
        if (writing === 'raw') return value;
        const encoded = encodeURIComponent(writing === 'spaced' ? value.replaceAll('+', ' ') : value);
        return writing === 'lower' ? encoded.replaceAll(/%../g, (byte) => byte.toLowerCase()) : encoded;
      },
    );
  }
}

/** A trace whose actions differ between the versions of the actions. */
function pendingTrace({ indexer: { chain } }: World): Trace {
  for (;;) {
    const trace = chain.trace(chain.send());
    if (trace !== undefined && trace.transactions.length > 5 && hasPlus(trace.externalHash)) return trace;
  }
}

/** Only a hash with a plus and a slash differs between the encodings of base64. */
function hasPlus(hash: string): boolean {
  return hash.includes('+') && hash.includes('/');
}

function senderOf({ transactions: [first] }: Trace) {
  if (first === undefined) throw new Error('a trace without transactions');
  return first.account;
}

function named(name: string, spellings: object): [string, string][] {
  return Object.entries(spellings).map(([spelling, value]) => [`${name}.${spelling}`, String(value)]);
}
