import { describe, expect, it } from 'vitest';
import { FallenHead } from '../../../src/chain/fallen-head.ts';

/** A polled head. `poll` names a block some seconds after the last poll, and returns the fall. */
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
  it('when two polls in a row return one more than 100 blocks below the highest of the last minute', () => {
    const { poll } = polledHead();
    expect(poll(62_000)).toBeUndefined();
    expect(poll(60_750)).toBeUndefined();
    expect(poll(60_775)).toEqual({ from: 62_000, to: 60_775 });
    expect(poll(60_800)).toEqual({ from: 62_000, to: 60_800 });
  });

  it('also if only an answer showed the higher block', () => {
    const { head, poll } = polledHead();
    head.shown(62_000);
    poll(60_750);
    expect(poll(60_751)).toEqual({ from: 62_000, to: 60_751 });
  });

  it('until it reaches the old block again, even if polls name blocks in between', () => {
    const { poll } = polledHead();
    for (const seqno of [62_000, 60_750, 60_750, 61_950]) poll(seqno);
    expect(poll(61_999)).toEqual({ from: 62_000, to: 61_999 });
    expect(poll(62_000)).toBeUndefined();
    expect(poll(62_025)).toBeUndefined();
  });

  it('for at most an hour', () => {
    const { poll } = polledHead();
    for (const seqno of [62_000, 60_000, 60_000]) poll(seqno);
    for (let seconds = 0; seconds < 3600; seconds += 10) expect(poll(60_000)).toBeDefined();
    for (let seconds = 0; seconds < 600; seconds += 10) expect(poll(60_000)).toBeUndefined();
  });

  it('not if replicas differ by 100 blocks, or if single polls reach a replica that has just started', () => {
    const { poll } = polledHead();
    for (let seqno = 62_000; seqno < 63_000; seqno += 25) {
      expect(poll(seqno)).toBeUndefined();
      expect(poll(seqno - 100)).toBeUndefined();
      expect(poll(seqno - 100)).toBeUndefined();
      expect(poll(seqno - 5000)).toBeUndefined();
    }
  });

  it('not if the higher head was named more than a minute ago', () => {
    const { poll } = polledHead();
    poll(62_000);
    expect(poll(60_000, 61)).toBeUndefined();
    expect(poll(60_000)).toBeUndefined();
  });

  it('not if the clock jumps between the two polls', () => {
    const { head, poll } = polledHead();
    poll(62_000);
    poll(60_000);
    head.forget();
    expect(poll(60_000)).toBeUndefined();
    expect(poll(60_000)).toBeUndefined();
  });
});
