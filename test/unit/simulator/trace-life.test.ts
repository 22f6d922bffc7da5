import { describe, expect, it } from 'vitest';
import { finalityAt, type Trace } from '../../../src/simulator/trace.ts';
import { allTransactions, chainAt, START } from './chain-at.ts';

describe('the life of a trace', () => {
  const RANKS = { pending: 1, confirmed: 2, finalized: 3 };

  it('goes from pending to confirmed to finalized, and never back', () => {
    const chain = chainAt(20);
    const ranks = new Map<string, number>();
    const seen = new Set<string>();
    for (let instant = chain.now; instant < START + 60_000; instant += 50) {
      chain.advanceTo(instant);
      for (const trace of chain.pendingTraces()) {
        for (const transaction of trace.transactions) {
          const finality = finalityAt(transaction, chain.now);
          const rank = finality === undefined ? 0 : RANKS[finality];
          expect(rank).toBeGreaterThanOrEqual(ranks.get(transaction.hash) ?? 0);
          ranks.set(transaction.hash, rank);
          seen.add(String(finality));
        }
      }
    }
    expect(seen).toEqual(new Set(['undefined', 'pending', 'confirmed', 'finalized']));
  });

  it('is among the pending traces from its emulation until all its transactions are in blocks', () => {
    const chain = chainAt(20, { outOfOrder: true });
    const externalHash = chain.send();
    const trace = chain.trace(externalHash);
    if (trace === undefined) throw new Error('not sent');
    expect(chain.pendingTraces()).not.toContain(trace);
    chain.advanceTo(trace.emulatedAt);
    expect(chain.pendingTraces()).toContain(trace);
    expect(chain.pendingTracesOf(trace.transactions[0]?.account.address ?? '')).toContain(trace);
    expect(chain.transaction(trace.id)).toBeUndefined();
    chain.advanceTo(trace.goneAt - 1);
    expect(chain.pendingTraces()).toContain(trace);
    for (const { hash } of trace.transactions) expect(chain.transaction(hash)).toBeDefined();
    chain.advanceTo(trace.goneAt);
    expect(chain.pendingTraces()).not.toContain(trace);
    expect(chain.trace(externalHash)).toBe(trace);
  });

  it('lets some traces gain children seconds after all others were final', () => {
    const chain = chainAt(300);
    const lateBy = ({ transactions }: Trace) =>
      Math.max(...transactions.map(({ parent, finalizedAt }) => finalizedAt - (parent?.finalizedAt ?? finalizedAt)));
    const late = chain.recentTraces(500).filter((trace) => lateBy(trace) >= 2000);
    expect(late.length).toBeGreaterThan(10);
  });

  it('shows children of a transaction as they execute, and never loses one', () => {
    const chain = chainAt(20, { lateShare: 1 });
    const counts = new Map<string, number>();
    let grown = 0;
    for (let time = 0; time < 100; time++) {
      chain.advanceTo(chain.now + 400);
      for (const { hash } of allTransactions(chain)) {
        const count = chain.children(hash).length;
        const before = counts.get(hash);
        expect(count).toBeGreaterThanOrEqual(before ?? 0);
        if (before !== undefined && count > before) grown++;
        counts.set(hash, count);
      }
    }
    expect(grown).toBeGreaterThan(20);
  });

  it('ends without a block when the trace is invalidated', () => {
    const chain = chainAt(200, { invalidatedShare: 0.3 });
    const invalidated = chain.recentTraces(300).filter((trace) => trace.invalidated);
    expect(invalidated.length).toBeGreaterThan(10);
    chain.advanceTo(chain.now + 20_000);
    for (const trace of invalidated) {
      expect(chain.pendingTraces()).not.toContain(trace);
      for (const { hash } of trace.transactions) expect(chain.transaction(hash)).toBeUndefined();
    }
  });

  it('begins once for one external message, however often it is sent', () => {
    const chain = chainAt(5);
    const [wallet] = chain.accounts.wallets;
    const hash = chain.send(wallet);
    const trace = chain.trace(hash);
    chain.send(wallet, hash);
    expect(chain.trace(hash)).toBe(trace);
    expect(trace?.transactions[0]?.account).toBe(wallet);
    expect(chain.send(wallet)).not.toBe(hash);
  });
});
