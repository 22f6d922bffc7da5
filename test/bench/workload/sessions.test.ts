import { describe, expect, it } from 'vitest';
import { Chain } from '../../../src/simulator/chain.ts';
import { SeededRandom } from '../../../src/simulator/seeded-random.ts';
import { HOUR_MS } from './hour.ts';
import { sessionsOfHour, zipf } from './sessions.ts';

// A chain of a minute: what comes after it has no traces.
const chain = new Chain({ startAt: 0, historyBlocks: 9300 });
chain.advanceTo(60_000);
const sessions = sessionsOfHour(chain, 'test', 2);

describe('the sessions of an hour', () => {
  it('are the same for the same seed, and others for another', () => {
    expect(sessionsOfHour(chain, 'test', 2)).toEqual(sessions);
    expect(sessionsOfHour(chain, 'another', 2)).not.toEqual(sessions);
  });

  it('have wallets from the moment that a trace is sent, and longer than it is pending', () => {
    const wallets = sessions.flatMap((session) => (session.kind === 'wallet' ? [session] : []));
    expect(new Set(wallets.map(({ externalHash }) => externalHash)).size).toBe(chain.recentTraces(HOUR_MS).length);
    for (const { externalHash, startMs, endMs } of wallets) {
      const trace = chain.trace(externalHash);
      expect(startMs).toBeLessThanOrEqual(trace?.emulatedAt ?? 0);
      expect(endMs).toBeGreaterThan(Math.min(trace?.goneAt ?? 0, startMs + 19_000));
    }
  });

  it('have a tenth of clients that bust caches, and every spelling', () => {
    const busting = sessions.filter(({ writing }) => writing.bustsCaches).length / sessions.length;
    expect(busting).toBeGreaterThan(0.08);
    expect(busting).toBeLessThan(0.12);
    expect(new Set(sessions.map(({ writing }) => writing.address)).size).toBe(10);
    expect(new Set(sessions.map(({ writing }) => writing.hash)).size).toBe(7);
    expect(new Set(sessions.map(({ writing }) => writing.style)).size).toBe(2);
  });

  it('are as many times more as the crowd is larger', () => {
    const count = (crowd: number, kind: string) =>
      sessionsOfHour(chain, 'test', crowd).filter((session) => session.kind === kind).length;
    expect(count(4, 'scanner')).toBe(4 * count(1, 'scanner'));
    expect(count(4, 'explorer') / count(1, 'explorer')).toBeCloseTo(4, 0);
    expect(count(4, 'watcher') / count(1, 'watcher')).toBeCloseTo(4, 0);
  });
});

describe('Zipf popularity', () => {
  it('picks the n-th about 1/n as often as the first, and all of a list', () => {
    const list = Array.from({ length: 100 }, (_, number) => number);
    const random = new SeededRandom('zipf');
    const counts = list.map(() => 0);
    for (let draw = 0; draw < 100_000; draw++) {
      const picked = zipf(list, random);
      counts[picked] = (counts[picked] ?? 0) + 1;
    }
    expect((counts[0] ?? 0) / (counts[9] ?? 0)).toBeGreaterThan(5);
    expect((counts[0] ?? 0) / (counts[9] ?? 0)).toBeLessThan(10);
    expect(Math.min(...counts)).toBeGreaterThan(100);
    expect(() => zipf([], random)).toThrow('nothing to pick from');
  });
});
