import type { Proof } from '../../src/freshness.ts';
import { BlockFollower, type BlockSource, type Page } from '../../src/proof/block-follower.ts';
import { Proofs } from '../../src/proof/proofs.ts';
import { ReadBlocks } from '../../src/proof/read-blocks.ts';
import { Touches } from '../../src/proof/touches.ts';
import type { BlockRow } from '../../src/ton/block-facts.ts';

/** The course of a failover, with the lengths of real ones. */
export interface FailoverCourse {
  /** The commits that the standby lacks. */
  readonly lostBlocks: number;
  /** No request is answered. */
  readonly silentMs: number;
  /** Then the standby stands still for this long, until it has everything. */
  readonly olderMs: number;
  /** The blocks in which each account has a transaction: those whose seqno has this rest. */
  readonly touchedBy: readonly { readonly every: number; readonly rest: number }[];
}

const STEP_MS = 50;
const BLOCK_MS = 400;
const POLL_MS = 500;
/** The follower begins long enough before the failover to have read all lost commits. */
const [BEGINS_AT_MS, FAILS_AT_MS, GOES_ON_MS] = [100_000, 180_000, 80_000];
const MOST_LISTED = 1000;

interface Kept {
  readonly proof: Proof;
  readonly askedAt: number;
  /** The newest transaction of the account that the database showed. */
  readonly shownUntil: number;
}

/**
 * Polls accounts at a database that fails over, with the follower itself, on a simulated clock. Returns the proven
 * answers that lacked a commit which the database had shown for more than a second.
 */
export async function outdatedByFailover(
  course: FailoverCourse,
): Promise<{ readonly outdated: readonly string[]; readonly proven: number }> {
  const { lostBlocks, silentMs, olderMs, touchedBy } = course;
  const backAt = FAILS_AT_MS + silentMs + olderMs;
  let now = BEGINS_AT_MS;
  const seqnoAt = (instant: number) => Math.floor(instant / BLOCK_MS);
  const isSilent = () => now >= FAILS_AT_MS && now < FAILS_AT_MS + silentMs;
  /** The newest block that the database has. */
  const newest = () => (now >= FAILS_AT_MS && now < backAt ? seqnoAt(FAILS_AT_MS) - lostBlocks : seqnoAt(now));
  const rowsOf = (seqno: number): BlockRow[] =>
    touchedBy.flatMap(({ every, rest }, account) =>
      seqno % every === rest
        ? [{ account: `${account}`, lt: BigInt(seqno), hash: `${seqno}-${account}`, now: 0, seqno }]
        : [],
    );
  const answered = async <T>(value: () => T): Promise<T | undefined> => (isSilent() ? undefined : value());
  const source: BlockSource = {
    head: () => answered(() => ({ seqno: newest(), askedAt: now, indexer: '' })),
    newest: () =>
      answered(() => {
        const seqnos = Array.from({ length: MOST_LISTED }, (_, n) => newest() - n);
        return { blocks: seqnos.map((seqno) => ({ seqno, at: (seqno * BLOCK_MS) / 1000 })), askedAt: now };
      }),
    page: (seqno) =>
      answered((): Page => {
        if (seqno > newest()) return { state: 'absent', askedAt: now };
        return { state: 'there', rows: rowsOf(seqno), isWhole: true, askedAt: now, indexer: '' };
      }),
    count: (seqno) => answered(() => rowsOf(seqno).length),
  };

  const kept: (Kept | undefined)[] = [];
  const touches = new Touches({ now: () => now, keptMs: 362_000, maxBytes: 2 ** 26 });
  const blocks = new ReadBlocks();
  const boundsMs = { withClaims: 60_000, plain: 300_000 };
  const proofs = new Proofs({ touches, blocks, now: () => now, boundsMs });
  proofs.switched(true);
  const onBug = (error: unknown) => {
    throw error;
  };
  const follower = new BlockFollower({ source, blocks, proofs, now: () => now, onPagesCut: onBug, onBug });

  const newestOf = ({ every, rest }: FailoverCourse['touchedBy'][number], upTo: number) =>
    upTo - ((((upTo - rest) % every) + every) % every);
  const outdated: string[] = [];
  let proven = 0;
  const poll = (account: number, touched: FailoverCourse['touchedBy'][number]) => {
    const answer = kept[account];
    if (answer !== undefined && answer.proof.doubt === undefined) {
      proven++;
      // The database has shown everything for a second, and the answer lacks a block from before that second.
      const isWhole = now < FAILS_AT_MS || now > backAt + 1000;
      if (isWhole && newestOf(touched, seqnoAt(now - 1000)) > answer.shownUntil) outdated.push(`${account} at ${now}`);
      return;
    }
    if (isSilent()) return;
    const shownUntil = newestOf(touched, newest());
    const evidence = { kind: 'state', accounts: [`${account}`], hasClaims: false, lastLt: BigInt(shownUntil) } as const;
    const proof = proofs.proofOf(evidence, evidence.accounts, now);
    kept[account] = proof && { proof, askedAt: now, shownUntil };
  };
  for (; now < backAt + GOES_ON_MS; now += STEP_MS) {
    follower.tick();
    for (let turn = 0; turn < 60; turn++) await Promise.resolve();
    for (const [account, touched] of touchedBy.entries()) {
      if ((now / STEP_MS + account) % (POLL_MS / STEP_MS) === 0) poll(account, touched);
    }
  }
  return { outdated, proven };
}
