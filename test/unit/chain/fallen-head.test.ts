import { describe, expect, it } from 'vitest';
import { FallenHead } from '../../../src/chain/fallen-head.ts';

/** A head that is polled: `poll` names a block, some seconds after the one before. */
function polledHead() {
  let now = 0;
  const head = new FallenHead(() => now);
  const poll = (seqno: number, seconds = 10) => {
    now += 1000 * seconds;
    head.named(seqno);
    return head.fall;
  };
  const pass = (seconds: number) => {
    now += 1000 * seconds;
  };
  return { head, poll, pass };
}

describe('a head has fallen', () => {
  it('when two polls in a row name one that is more than 100 blocks below the highest of the last minute', () => {
    const { poll } = polledHead();
    expect(poll(62_000)).toBeUndefined();
    expect(poll(60_750)).toBeUndefined();
    expect(poll(60_775)).toEqual({ from: 62_000, to: 60_775 });
    expect(poll(60_800)).toEqual({ from: 62_000, to: 60_800 });
  });

  it('also below a block that an answer showed', () => {
    const { head, poll } = polledHead();
    head.shown(62_000);
    poll(60_750);
    expect(poll(60_751)).toEqual({ from: 62_000, to: 60_751 });
  });

  it('until it is there again, also when single polls name a block in between', () => {
    const { poll } = polledHead();
    for (const seqno of [62_000, 60_750, 60_750, 61_950]) poll(seqno);
    expect(poll(61_999)).toEqual({ from: 62_000, to: 61_999 });
    expect(poll(62_000)).toBeUndefined();
    expect(poll(62_025)).toBeUndefined();
  });

  it('for an hour at most', () => {
    const { poll } = polledHead();
    for (const seqno of [62_000, 60_000, 60_000]) poll(seqno);
    for (let seconds = 0; seconds < 3600; seconds += 10) expect(poll(60_000)).toBeDefined();
    for (let seconds = 0; seconds < 600; seconds += 10) expect(poll(60_000)).toBeUndefined();
  });

  it('not with replicas that differ by 100 blocks, or when one of two polls meets one that has just started', () => {
    const { poll } = polledHead();
    for (let seqno = 62_000; seqno < 63_000; seqno += 25) {
      expect(poll(seqno)).toBeUndefined();
      expect(poll(seqno - 100)).toBeUndefined();
      expect(poll(seqno - 100)).toBeUndefined();
      expect(poll(seqno - 5000)).toBeUndefined();
    }
  });

  it('not below heads that were named more than a minute ago', () => {
    const { poll } = polledHead();
    poll(62_000);
    expect(poll(60_000, 61)).toBeUndefined();
    expect(poll(60_000)).toBeUndefined();
  });

  it('not by a jump of the clock', () => {
    const { head, poll } = polledHead();
    poll(62_000);
    poll(60_000);
    head.forget();
    expect(poll(60_000)).toBeUndefined();
    expect(poll(60_000)).toBeUndefined();
  });
});
