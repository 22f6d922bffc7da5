import type { Patch } from './patched-source.ts';

/** A rule of the product that is broken, and what the checker must find then. */
interface Mutant extends Patch {
  readonly rule: string;
  readonly finding: 'lie' | 'regression' | 'needless wait';
  /** The faults without which the rule has no effect. */
  readonly fault?: string;
}

/** The broken rules that the checker must find. */
export const MUTANTS: readonly Mutant[] = [
  {
    rule: 'a lifetime is ten times as long',
    finding: 'lie',
    file: 'ton/lifetime-table.ts',
    from: "pendingLive: row('live', [400, 400,",
    to: "pendingLive: row('live', [4000, 400,",
  },
  {
    rule: 'a purge is ignored',
    finding: 'lie',
    file: 'purge/bans.ts',
    from: 'if (entry.askedAt <= this.purgedUntil(tags)) return undefined;',
    to: '',
  },
  {
    rule: 'the guard against replica lag is ignored',
    finding: 'regression',
    fault: 'replica-lag',
    file: 'cache/precedence.ts',
    from: 'switch (compareCompleteness(next.completeness, kept.completeness)) {',
    to: 'switch ("equal" as Comparison) {',
  },
  {
    rule: 'a stale answer is served as a fresh one',
    finding: 'lie',
    file: 'freshness.ts',
    from: "if (now < freshUntil) return 'fresh';",
    to: "if (now < freshUntil + Math.max(staleWhileRevalidate, staleIfError)) return 'fresh';",
  },
  {
    rule: 'one spelling of a hash gets the key of another hash',
    finding: 'lie',
    file: 'ton/hash.ts',
    from: "const base64 = text.replaceAll(' ', '+');",
    to: "const base64 = text.replaceAll(' ', '+').replaceAll('_', '+');",
  },
  {
    rule: 'a header that changes the answer is not part of the key',
    finding: 'lie',
    file: 'ton/cache-key.ts',
    from: '[...query, ...headers]',
    to: '[...query]',
  },
  {
    rule: 'an answer waits for the head of the chain',
    finding: 'needless wait',
    fault: 'head-hangs',
    file: 'answer/ask.ts',
    from: 'const reading = bodies.read(call, answer, proofs?.unreadFrom);',
    to: 'const reading = bodies.read(call, answer, proofs?.unreadFrom);\nawait indexer.client.fetch({ operation: "masterchainInfo", query: [], headers: [] }, 5000).catch(() => {});',
  },
  {
    rule: 'a final trace is accepted as pending while the database is behind',
    finding: 'regression',
    fault: 'database-lag',
    file: 'fleet/second-try.ts',
    from: '(isAbsent || endsOnceCommitted === true)',
    to: 'isAbsent',
  },
  {
    rule: 'the first trace of an external message is taken for the only one',
    finding: 'lie',
    fault: 'external-accepted-twice',
    file: 'ton/operations/traces.ts',
    from: 'if (hash === undefined) return false;',
    to: 'return false;',
  },
  {
    rule: 'a lower head is kept away for 10 minutes',
    finding: 'lie',
    fault: 'database-falls-back',
    file: 'cache/precedence.ts',
    from: 'export const HEAD_ACCEPTED_AFTER_MS = 60_000;',
    to: 'export const HEAD_ACCEPTED_AFTER_MS = 600_000;',
  },
  {
    rule: 'the answers of a database that has fallen back are accepted immediately',
    finding: 'regression',
    fault: 'database-falls-back',
    file: 'cache/precedence.ts',
    from: 'const acceptedAfterMs =',
    to: 'return "replaces";\nconst acceptedAfterMs =',
  },
  {
    rule: 'an answer is forgotten at the end of its use',
    finding: 'regression',
    fault: 'replica-lag-by-connection',
    file: 'ton/lifetime.ts',
    from: 'afterUse: 10_000',
    to: 'afterUse: 0',
  },
  {
    rule: 'an answer that is kept to be compared is served when the indexer fails',
    finding: 'lie',
    fault: 'indexer-down',
    file: 'freshness.ts',
    from: "if (now < freshUntil + staleIfError) return 'stale-if-error';",
    to: "if (now < freshUntil + staleIfError + 10_000) return 'stale-if-error';",
  },
  {
    rule: 'a block that shows a transaction does not end the proof of its account',
    finding: 'lie',
    file: 'proof/proofs.ts',
    from: "return this.#lacksOne ? 'touched' : undefined;",
    to: 'return undefined;',
  },
  {
    rule: 'answers are proven while no blocks are read',
    finding: 'lie',
    fault: 'indexer-hangs',
    file: 'proof/proofs.ts',
    from: "if (!reading.isAlive) return this.#owners === undefined ? 'not-alive' : 'not-settled';",
    to: '',
  },
  {
    rule: 'an answer is proven that lacks a transaction which a block had shown before its request',
    finding: 'lie',
    fault: 'answers-lag',
    file: 'proof/proofs.ts',
    from: 'this.#comparedUntil = askedAt - SEEN_BEFORE_MS;',
    to: 'this.#comparedUntil = askedAt;',
  },
  {
    rule: 'a newer state of an account is replaced by an older one',
    finding: 'regression',
    fault: 'answers-lag',
    file: 'ton/account-state.ts',
    from: 'order: lastLtIn(body)',
    to: 'order: 0n',
  },
  {
    rule: 'an answer that is dated ahead is served',
    finding: 'lie',
    fault: 'redis-clock-back',
    file: 'freshness.ts',
    from: 'return askedAt > latest ||',
    to: 'return',
  },
  {
    rule: 'a new wallet does not end the proof of its owner',
    finding: 'lie',
    file: 'proof/settled-wallets.ts',
    from: '...[...owners].map(walletsOf)',
    to: '',
  },
  {
    rule: 'a transfer does not end the proof of its recipient',
    finding: 'lie',
    file: 'proof/settled-wallets.ts',
    from: "return [recipient === 'unreadable' ? TRANSFERS_TO_ANYBODY : transfersTo(recipient.account), ...from];",
    to: 'return from;',
  },
  {
    rule: 'the owners in a block are taken from a database that lacks the block',
    finding: 'lie',
    fault: 'jettons-lag',
    file: 'proof/owner-look-ups.ts',
    from: 'if (lts.get(account) === lt) return true;',
    to: 'return true;',
  },
];
