import { describe, expect, it } from 'vitest';
import { Head } from '../../../src/indexer/head.ts';

/** A polled head. `poll` names a block some seconds after the last poll, and returns the blocks that it has fallen. */
function polledHead() {
  let now = 0;
  const head = new Head({ now: () => now, isOurChain: () => true, onFault: () => {}, askEveryMs: () => 10_000 });
  const poll = (seqno: number, seconds = 10) => {
    now += 1000 * seconds;
    head.name({ seqno, at: 0, first: 0, globalId: undefined });
    return head.fallenBlocks;
  };
  return { head, poll };
}

describe('a head has fallen', () => {
  it('when two polls in a row return one more than 100 blocks below the highest of the last hour', () => {
    const { poll } = polledHead();
    expect([62_000, 60_750, 60_775, 60_800].map((seqno) => poll(seqno))).toEqual([0, 0, 1225, 1200]);
  });

  it('also if only an answer showed the higher block', () => {
    const { head, poll } = polledHead();
    head.show({ seqno: 62_000, at: 0 });
    expect([poll(60_750), poll(60_751)]).toEqual([0, 1249]);
  });

  it('also if clients paused for most of the hour in between', () => {
    const { poll } = polledHead();
    expect([poll(62_000), poll(60_000, 3500), poll(60_000)]).toEqual([0, 0, 2000]);
  });

  it('until it is at most 100 blocks below', () => {
    const { poll } = polledHead();
    for (const seqno of [62_000, 60_750]) poll(seqno);
    expect([61_899, 61_900, 62_025].map((seqno) => poll(seqno))).toEqual([101, 0, 0]);
  });

  it('for at most an hour', () => {
    const { poll } = polledHead();
    for (const seqno of [62_000, 60_000]) poll(seqno);
    for (let seconds = 20; seconds <= 3600; seconds += 10) expect(poll(60_000)).toBe(2000);
    for (let seconds = 0; seconds < 600; seconds += 10) expect(poll(60_000)).toBe(0);
  });

  it('not if replicas differ by 100 blocks, or if single polls reach a replica that has just started', () => {
    const { poll } = polledHead();
    for (let seqno = 62_000; seqno < 63_000; seqno += 25) {
      for (const below of [0, 100, 100, 5000]) expect(poll(seqno - below)).toBe(0);
    }
  });

  it('not if the clock jumps between the two polls', () => {
    const { head, poll } = polledHead();
    for (const seqno of [62_000, 60_000]) poll(seqno);
    head.forget();
    expect([poll(60_000), poll(60_000)]).toEqual([0, 0]);
  });
});
