import { type Entry, HIGHEST_CLASS_RANK } from '../cache/entry.ts';
import { plainBody } from '../cache/gzip.ts';
import type { KnownChain } from '../chain/known-chain.ts';
import { type ChainHead, headIn } from '../ton/chain-point.ts';
import { seqnoIn } from '../ton/tags.ts';

/** Connects entries from Redis with this instance's knowledge of the chain, in both directions. */
export class SharedEntries {
  readonly #chain: Pick<KnownChain, 'accepts' | 'learn'>;

  constructor(chain: Pick<KnownChain, 'accepts' | 'learn'>) {
    this.#chain = chain;
  }

  /** True if an entry may be used: a head only if it can be the head of our chain. Never throws. */
  accepts(entry: Entry): boolean {
    const head = headOfEntry(entry);
    return head === undefined || this.#chain.accepts(head);
  }

  /**
   * Learns from an entry with these tags how far the chain has got: from a head, or from an answer that shows its
   * block.
   */
  learn(entry: Entry, tags: readonly string[]): void {
    const head = headOfEntry(entry);
    const seqno = entry.meta.answerClass === 'absent' ? undefined : seqnoIn(tags);
    if (head !== undefined) this.#chain.learn(head);
    else if (seqno !== undefined) this.#chain.learn({ at: 0, seqno });
  }
}

/** The head in an answer to `masterchainInfo`: its rank is the seqno. `undefined` for all other entries. */
function headOfEntry({ completeness: { rank }, content }: Entry): ChainHead | undefined {
  return rank > HIGHEST_CLASS_RANK ? { ...headIn(plainBody(content) ?? NOTHING), seqno: rank } : undefined;
}

const NOTHING = Buffer.alloc(0);
