import { ChainTime } from '../../src/proxy/chain-time.ts';
import type { SharedChainTime } from '../../src/proxy/shared-chain-time.ts';

/** In milliseconds, as all times of a chain are. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** An indexer's head and a clock, both moved by the test alone, for a `ChainTime`. */
export class ScriptedChain {
  /** When `now` begins, epoch milliseconds. */
  static readonly START = 1_800_000_000_000;

  now = ScriptedChain.START;
  /** How far the indexer is behind the clock; `undefined`: it does not say. */
  behindMs: number | undefined = 0;
  /** How often the head was asked for. */
  asks = 0;

  /** What one instance knows of this chain. */
  chainTime(shared?: SharedChainTime, askHead = this.#askHead): ChainTime {
    return new ChainTime({ askHead, shared, now: () => this.now });
  }

  readonly #askHead = async (): Promise<number | undefined> => {
    this.asks++;
    return this.behindMs === undefined ? undefined : this.now - this.behindMs;
  };
}
