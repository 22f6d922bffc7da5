import type { Account, Accounts } from './accounts.ts';
import type { BlockClock, BlockId } from './blocks.ts';
import type { JettonAct, JettonEffect } from './jetton-act.ts';
import { digest, type SeededRandom } from './seeded-random.ts';

/** The finality of a transaction, in the indexer's own words, the least final first. */
export const FINALITIES = ['pending', 'confirmed', 'finalized'] as const;

/** The finality of a transaction. */
export type SimulatedFinality = (typeof FINALITIES)[number];

/** One transaction, with every instant of its life. All instants are epoch ms; `Infinity` means never. */
export interface Transaction {
  readonly hash: string;
  readonly account: Account;
  /** Canonical hash of the message that caused it; `undefined` for the masterchain's own tick-tock transactions. */
  readonly messageHash: string | undefined;
  /** `undefined` for the first of a trace, which an external message caused. */
  readonly parent: Transaction | undefined;
  readonly children: readonly Transaction[];
  /** The message about jettons that caused it, if it is one. */
  readonly act?: JettonAct;
  /** Its consequences for jettons and for the code of its account, if any. Set when the chain reaches its block. */
  effect?: JettonEffect;
  /**
   * The account's previous transaction. Set when the chain reaches its block: `undefined` before, and for the first
   * one.
   */
  previous?: { readonly hash: string; readonly lt: number };
  /** The masterchain block that commits it. */
  readonly seqno: number;
  readonly lt: number;
  /** Generation time of its block, unix seconds. */
  readonly now: number;
  readonly emulatedAt: number;
  readonly confirmedAt: number;
  readonly finalizedAt: number;
}

/** A masterchain block with the shard blocks that it commits, and every transaction in them. */
export interface BlockSet {
  readonly seqno: number;
  /** When it is committed, epoch ms. The indexer may get it later, see `Chain.delay`. */
  readonly committedAt: number;
  /** The masterchain block first, then the shard blocks. */
  readonly blocks: readonly BlockId[];
  /** In the order of their logical times, once the block is committed. */
  readonly transactions: readonly Transaction[];
}

/** The transactions that one external message causes. */
export interface Trace {
  /** Hash of the first transaction. */
  readonly id: string;
  readonly externalHash: string;
  /** In the order of their logical times; a parent is before its children. */
  readonly transactions: readonly Transaction[];
  readonly emulatedAt: number;
  /** From then on the trace is no longer pending: it is final or was invalidated. */
  readonly goneAt: number;
  /** An invalidated trace is emulated and then gone; no masterchain block ever commits it. */
  readonly invalidated: boolean;
  /** The time after each change of its transactions until its actions follow, ms. */
  readonly classifierDelayMs: number;
}

/** The external message and options from which a trace is drawn. */
export interface TraceSeed extends Pick<Trace, 'externalHash' | 'invalidated' | 'classifierDelayMs'> {
  readonly sender: Account;
  readonly sentAt: number;
  /** The probability (0..1) that one part of the tree executes seconds after the rest. */
  readonly delayedShare: number;
}

/** The parent (by its place) of each transaction after the first. */
function parentsOf(random: SeededRandom): readonly number[] {
  const drawn = random.next();
  // An external message without effects, a transfer, and a jetton transfer with its notification and excesses.
  if (drawn < 0.08) return [];
  if (drawn < 0.3) return [0];
  if (drawn < 0.6) return [0, 1, 2, 2];
  const size = random.int(6, 12);
  return Array.from({ length: size - 1 }, (_, before) => random.int(Math.max(0, before - 2), before));
}

function receiver(place: number, size: number, accounts: Accounts, random: SeededRandom): Account {
  if (size === 2) return random.chance(0.1) ? random.pick(accounts.masterchain) : random.pick(accounts.wallets);
  if (place >= size - 2) return random.pick(accounts.wallets);
  return random.pick(random.chance(0.6) ? accounts.jettonWallets : accounts.contracts);
}

/** The logical time of the n-th event in a masterchain block: `n` below a million. */
export function logicalTime(seqno: number, n: number): number {
  return seqno * 1_000_000 + n;
}

/** A transaction without effects, in a masterchain block of this clock: the n-th event there. */
export function loneTransaction(
  { hash, account, messageHash }: Pick<Transaction, 'hash' | 'account' | 'messageHash'>,
  { clock, seqno, n }: { readonly clock: BlockClock; readonly seqno: number; readonly n: number },
): Transaction {
  const committedAt = clock.committedAt(seqno);
  return {
    hash,
    account,
    messageHash,
    parent: undefined,
    children: [],
    seqno,
    lt: logicalTime(seqno, n),
    now: Math.floor(committedAt / 1000),
    emulatedAt: committedAt,
    confirmedAt: committedAt,
    finalizedAt: committedAt,
  };
}

/** Draws the whole life of a trace in advance: its accounts, its blocks, and the time when each part becomes known. */
export function planTrace(seed: TraceSeed, clock: BlockClock, accounts: Accounts, random: SeededRandom): Trace {
  const { externalHash, invalidated, classifierDelayMs } = seed;
  const { blockMs } = clock;
  const isDelayed = random.chance(seed.delayedShare);
  const parents = parentsOf(random);
  const size = parents.length + 1;
  const delayedPlace = isDelayed && size > 1 ? random.int(1, size - 1) : undefined;
  const emulatedAt = seed.sentAt + blockMs / 4;
  const firstLt = random.int(1, 900_000);
  const transactions: (Transaction & { readonly children: Transaction[] })[] = [];

  for (let place = 0; place < size; place++) {
    const parent = place === 0 ? undefined : transactions[parents[place - 1] ?? 0];
    const delay = place === delayedPlace ? random.int(6, 20) : random.chance(0.6) ? 0 : random.int(1, 2);
    // An external message is in the first masterchain block that is committed at least two block times after it was
    // sent.
    const seqno = parent === undefined ? clock.seqnoFrom(seed.sentAt + 2 * blockMs) : parent.seqno + delay;
    const committedAt = clock.committedAt(seqno);
    const isAfterDelay = place === delayedPlace || (parent !== undefined && parent.emulatedAt > emulatedAt);
    const transaction = {
      hash: digest(externalHash, 'transaction', place),
      account: parent === undefined ? seed.sender : receiver(place, size, accounts, random),
      messageHash: parent === undefined ? externalHash : digest(externalHash, 'message', place),
      parent,
      children: [],
      seqno,
      lt: logicalTime(seqno, firstLt + 2 * place + 1),
      now: Math.floor(committedAt / 1000),
      emulatedAt: isAfterDelay ? Math.max(committedAt - 1.75 * blockMs, parent?.emulatedAt ?? 0) : emulatedAt,
      confirmedAt: invalidated ? Number.POSITIVE_INFINITY : committedAt - blockMs,
      finalizedAt: invalidated ? Number.POSITIVE_INFINITY : committedAt,
    };
    parent?.children.push(transaction);
    transactions.push(transaction);
  }

  const lastCommittedAt = Math.max(...transactions.map(({ seqno }) => clock.committedAt(seqno)));
  return {
    id: transactions[0]?.hash ?? externalHash,
    externalHash,
    transactions: transactions.toSorted((a, b) => a.lt - b.lt),
    emulatedAt,
    // Longer than a masterchain block can be overdue in the database, so that a trace is always pending or in a block.
    goneAt: (invalidated ? emulatedAt : lastCommittedAt) + 3 * blockMs,
    invalidated,
    classifierDelayMs,
  };
}

/** The finality of a transaction at an instant (epoch ms); `undefined` before it is known at all. */
export function finalityAt(transaction: Transaction, instant: number): SimulatedFinality | undefined {
  if (instant >= transaction.finalizedAt) return 'finalized';
  if (instant >= transaction.confirmedAt) return 'confirmed';
  return instant >= transaction.emulatedAt ? 'pending' : undefined;
}

/** The lowest finality of these transactions at an instant (epoch ms). */
export function leastFinality(transactions: readonly Transaction[], instant: number): SimulatedFinality {
  const least = Math.min(...transactions.map((it) => FINALITIES.indexOf(finalityAt(it, instant) ?? 'pending')));
  return FINALITIES[least] ?? 'pending';
}

/** The part of a trace that is known at an instant (epoch ms), parents before children. */
export function knownTransactions(trace: Trace, instant: number): readonly Transaction[] {
  return trace.transactions.filter((transaction) => finalityAt(transaction, instant) !== undefined);
}

/** Every instant at which a part of a trace changes, epoch ms; in no order, some twice, `Infinity` for never. */
export function changesOf(trace: Trace): readonly number[] {
  const changes = changesOfTransactions(trace);
  return [trace.goneAt, ...changes, ...changes.map((at) => at + trace.classifierDelayMs)];
}

/**
 * The instant (epoch ms) of the last change of a trace that is classified by `instant`: its actions are those of then.
 * `undefined` before the first classification.
 */
export function classifiedOf(trace: Trace, instant: number): number | undefined {
  const classified = changesOfTransactions(trace).filter((at) => at + trace.classifierDelayMs <= instant);
  return classified.length === 0 ? undefined : Math.max(...classified);
}

function changesOfTransactions({ transactions }: Trace): readonly number[] {
  return transactions.flatMap((one) => [one.emulatedAt, one.confirmedAt, one.finalizedAt]);
}
