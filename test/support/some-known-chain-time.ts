import fc from 'fast-check';
import { type KnownChainTime, NOTHING_KNOWN } from '../../src/proxy/known-chain-time.ts';

/** What an instance can know of the chain time at `now`, with ties and with pairs 60 s apart as often as not. */
export function someKnownChainTime(now: number): fc.Arbitrary<KnownChainTime> {
  const ageMs = fc.oneof(fc.constantFrom(0, 1, 59_999, 60_000, 60_001, 120_000), fc.nat(4_000_000));
  const someTime = fc.record({ newestAt: ageMs, shownAt: ageMs }).map(({ newestAt, shownAt }) => ({
    newestAt: now - newestAt,
    shownAt: now - shownAt,
  }));
  return fc.oneof({ weight: 9, arbitrary: someTime }, { weight: 1, arbitrary: fc.constant(NOTHING_KNOWN) });
}
