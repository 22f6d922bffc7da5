import type { Account } from '../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../src/tools/simulator/chain.ts';
import type { SeededRandom } from '../../src/tools/simulator/seeded-random.ts';
import type { Trace, Transaction } from '../../src/tools/simulator/trace.ts';
import type { Call } from './call.ts';
import { callOfMethod, callsAboutJettons } from './calls-about-jettons.ts';

/** What a client of the checker needs. */
export interface Habitat {
  /** The chain, further on than the indexer: clients also request what does not exist yet. */
  readonly chain: () => Chain;
  /** Up to this instant the indexer has the data that the client looks at, epoch ms. */
  readonly now: () => number;
  readonly random: SeededRandom;
  readonly ask: (call: Call) => Promise<void>;
  /** False once the client has to end. */
  readonly goesOn: () => boolean;
  /** Waits for about this long, ms. */
  readonly pause: (ms: number) => Promise<void>;
}

type Habit = (habitat: Habitat) => Promise<void>;

interface Kind {
  readonly habit: Habit;
  readonly count: number;
  /** True if it looks at nothing but its account or owner. */
  readonly polls?: true;
}

/** The kinds of clients and how many there are of each. A client sends its next request when it has its answer. */
export const CROWD: readonly Kind[] = [
  { habit: waitForMessages, count: 6 },
  { habit: watchAccount, count: 6 },
  { habit: explore, count: 8 },
  { habit: scan, count: 3 },
  { habit: follow, count: 4 },
  { habit: lookUp, count: 6 },
  { habit: keepOpen, count: 9 },
  { habit: pollAccount, count: 160, polls: true },
  { habit: pollSlowly, count: 16, polls: true },
  { habit: awaitNewcomer, count: 8 },
  { habit: pollOwner, count: 70, polls: true },
  { habit: pollOwnerSlowly, count: 10, polls: true },
  { habit: pollMethod, count: 60, polls: true },
];

/** How often a wallet or a deposit scanner polls its account, and how long some of them pause, ms. */
const ACCOUNT_PACE_MS = 3000;
const SLOW_PACES_MS = [15_000, 36_000];
/**
 * A client polls for an account that does not exist yet: this often, from this long before it exists, until this long
 * after, ms.
 */
const [NEWCOMER_PACE_MS, NEWCOMER_BEFORE_MS, NEWCOMER_AFTER_MS] = [700, 5000, 12_000];

/** More accounts than begin in the time by which a database falls back. */
const TRACES_BACK = 2000;
const POLLS = 25;
/** A block with more transactions than this is not read in small pages. */
const LARGE_BLOCK = 300;
const WORDS = [undefined, undefined, 'v1', 'latest'];
const DIRECTIONS = ['in', 'out', 'out', undefined] as const;
/** How often an open screen sends a request, ms. */
const PACES_MS = [400, 1000, 3500];
/** A client that pauses notices the end of the run within this time, ms. */
const LONGEST_PAUSE_MS = 1000;
/** For this long it sends requests. */
const KEPT_OPEN_MS = 12_000;

/** A wallet polls for its message, sometimes for several, from before the indexer has it until it is over. */
async function waitForMessages({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  while (goesOn()) {
    const near = tracesNear(chain(), now() - 500, now() + 1500);
    const hashes = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => pick(random, near)?.externalHash);
    const call = { hashes: [...new Set(hashes.filter((hash) => hash !== undefined))], ...variant(random) };
    for (let polls = 0; goesOn() && polls < POLLS && call.hashes.length > 0; polls++) {
      await ask({ operation: 'pendingTraces', ...call });
      await pause(100);
    }
    await pause(50);
  }
}

/** Some look at an account while something happens there; if there are several accounts, the last one counts. */
async function watchAccount({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  while (goesOn()) {
    const trace = pick(random, tracesNear(chain(), now() - 1000, now() + 1000));
    const account = trace === undefined ? undefined : pick(random, trace.transactions)?.account;
    const others: readonly Account[] = random.chance(0.2) ? [random.pick(chain().accounts.wallets)] : [];
    const accounts = account === undefined ? [] : [...others.filter((other) => other !== account), account];
    const call = { accounts, ...variant(random) };
    for (let polls = 0; goesOn() && polls < POLLS && accounts.length > 0; polls++) {
      await ask({ operation: 'pendingTraces', ...call });
      await pause(150);
    }
    await pause(50);
  }
}

/** All of these look again and again at the same few traces of the last seconds, some of which are in no block yet. */
async function explore({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  while (goesOn()) {
    const recent = tracesNear(chain(), now() - 9000, now() + 500).filter((_, place) => place % 4 === 0);
    const transaction = pick(random, pick(random, recent)?.transactions ?? []);
    const direction = pick(random, DIRECTIONS);
    if (transaction !== undefined) {
      const call: Call = {
        operation: 'adjacentTransactions',
        hashes: [transaction.hash],
        ...(direction === undefined ? {} : { direction }),
        ...(random.chance(0.1) ? { noAddressBook: true } : {}),
      };
      for (let looks = random.int(1, 12); goesOn() && looks > 0; looks--) {
        await ask(call);
        await pause(150);
      }
    }
    await pause(50);
  }
}

/** A wallet or explorer searches a trace by what it knows, from before it exists until something is added to it. */
async function lookUp({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  while (goesOn()) {
    const recent = tracesNear(chain(), now() - 15_000, now() + 500).filter((_, place) => place % 4 === 0);
    const trace = pick(random, recent);
    const transaction = pick(random, trace?.transactions ?? []);
    if (trace !== undefined && transaction !== undefined) {
      const call = lookUpOf(trace, transaction, random);
      for (let looks = random.int(1, 12); goesOn() && looks > 0; looks--) {
        await ask(call);
        await pause(150);
      }
    }
    await pause(50);
  }
}

/** An open screen polls, each at its own pace: the head, or a trace or its transactions from their beginning. */
async function keepOpen({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  while (goesOn()) {
    const trace = pick(random, tracesNear(chain(), now() - 3000, now() + 1000));
    const transaction = pick(random, trace?.transactions ?? []);
    if (trace !== undefined && transaction !== undefined) {
      const call = random.pick<Call>([
        { operation: 'masterchainInfo' },
        { operation: 'adjacentTransactions', hashes: [transaction.hash] },
        { operation: 'adjacentTransactions', hashes: [transaction.hash], direction: 'out' },
        { operation: 'traces', by: 'trace_id', hashes: [trace.id] },
        lookUpOf(trace, transaction, random),
      ]);
      const paceMs = random.pick(PACES_MS);
      for (let polls = KEPT_OPEN_MS / paceMs; goesOn() && polls > 0; polls--) {
        await ask(call);
        await pause(paceMs);
      }
    }
    await pause(50);
  }
}

/**
 * Polls one account for as long as the run lasts. Many clients do, so that the answers of most accounts are worth
 * proving.
 */
async function pollAccount(habitat: Habitat): Promise<void> {
  await habitat.pause(habitat.random.int(0, ACCOUNT_PACE_MS));
  await poll(habitat, accountCall(habitat), () => ACCOUNT_PACE_MS);
}

/** The same with pauses, in which a proof, and the answer as well, may expire. */
async function pollSlowly(habitat: Habitat): Promise<void> {
  await poll(habitat, accountCall(habitat), () => habitat.random.pick(SLOW_PACES_MS));
}

/** Polls the jettons of one owner. */
async function pollOwner(habitat: Habitat): Promise<void> {
  await habitat.pause(habitat.random.int(0, ACCOUNT_PACE_MS));
  await poll(habitat, ownerCall(habitat), () => ACCOUNT_PACE_MS);
}

/** The same with pauses. */
async function pollOwnerSlowly(habitat: Habitat): Promise<void> {
  await poll(habitat, ownerCall(habitat), () => habitat.random.pick(SLOW_PACES_MS));
}

/** Polls a get-method of one contract. */
async function pollMethod(habitat: Habitat): Promise<void> {
  await habitat.pause(habitat.random.int(0, ACCOUNT_PACE_MS));
  await poll(habitat, callOfMethod(habitat.chain(), habitat.random), () => ACCOUNT_PACE_MS);
}

async function poll({ ask, goesOn, pause }: Habitat, call: Call | undefined, paceMs: () => number): Promise<void> {
  while (call !== undefined && goesOn()) {
    await ask(call);
    for (let left = paceMs(); goesOn() && left > 0; left -= LONGEST_PAUSE_MS) {
      await pause(Math.min(left, LONGEST_PAUSE_MS));
    }
  }
}

/** Polls an account from before its first transaction, like a client that deploys it, and sees it begin. */
async function awaitNewcomer({ chain, random, ask, goesOn, pause }: Habitat): Promise<void> {
  while (goesOn()) {
    const { clock, idle } = chain();
    const account = idle.newcomerBy(clock.seqnoFrom(Date.now() + NEWCOMER_BEFORE_MS));
    if (account === undefined) return;
    const call = callAbout(account, chain(), random);
    const until = Date.now() + NEWCOMER_BEFORE_MS + NEWCOMER_AFTER_MS;
    while (goesOn() && Date.now() < until) {
      await ask(call);
      await pause(NEWCOMER_PACE_MS);
    }
  }
}

function accountCall({ chain, random }: Habitat): Call | undefined {
  const account = pick(random, chain().idle.all);
  return account && callAbout(account, chain(), random);
}

function ownerCall({ chain, random }: Habitat): Call | undefined {
  return pick(random, callsAboutJettons(chain(), random));
}

/** Questions about an account: its last transactions, those since some instant, or its state. */
function callAbout(account: Account, chain: Chain, random: SeededRandom): Call {
  const accounts = [account];
  const page: Call = { operation: 'transactions', accounts, limit: random.pick([3, 5, 10]) };
  const since = chain.history(account.address).at(-2)?.lt ?? 1;
  return random.pick<Call>([
    page,
    { ...page, noAddressBook: true },
    { ...page, limit: 100, startLt: since },
    { operation: 'addressInformation', accounts },
    { operation: account.kind === 'wallet' ? 'walletInformation' : 'addressInformation', accounts },
  ]);
}

function lookUpOf(trace: Trace, { hash, messageHash = trace.externalHash }: Transaction, random: SeededRandom): Call {
  const includeActions = random.chance(0.5) ? { includeActions: true } : {};
  const direction = pick(random, ['in', 'out', undefined] as const);
  return random.pick<Call>([
    { operation: 'traces', by: 'tx_hash', hashes: [hash], ...includeActions },
    { operation: 'traces', by: 'trace_id', hashes: [trace.id], ...includeActions },
    { operation: 'traces', by: 'msg_hash', hashes: [trace.externalHash], ...includeActions },
    { operation: 'traces', by: 'msg_hash', hashes: [messageHash] },
    { operation: 'transactions', hashes: [hash] },
    { operation: 'transactionsByMessage', hashes: [trace.externalHash] },
    { operation: 'transactionsByMessage', hashes: [messageHash], ...(direction === undefined ? {} : { direction }) },
  ]);
}

/** Walks the masterchain, waits at the head until the next block exists, and now and then looks back or far ahead. */
async function scan({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  const head = () => chain().clock.seqnoBy(now());
  for (let seqno = head() - 5; goesOn(); seqno++) {
    const page = random.pick<Pick<Call, 'limit' | 'offset'>>([
      {},
      {},
      { limit: 100 },
      { limit: 50, offset: 0 },
      { limit: 2 },
    ]);
    let isThere = false;
    while (goesOn() && !isThere) {
      isThere = seqno <= head();
      await ask({ operation: 'masterchainBlockShards', seqno, ...page });
      await pause(isThere ? 30 : 100);
    }
    const aside = random.pick([head() - random.int(0, 30), head() + 1, head() + random.int(1000, 1_000_000)]);
    await ask({ operation: 'masterchainBlockShards', seqno: aside, ...page });
  }
}

/**
 * A scanner follows the head: it reads the pages of each new block up to the empty one, and sometimes asks too early.
 */
async function follow({ chain, now, random, ask, goesOn, pause }: Habitat): Promise<void> {
  for (let seqno = 0; goesOn(); ) {
    await ask({ operation: 'masterchainInfo' });
    const head = chain().clock.seqnoBy(now());
    seqno = Math.max(seqno + 1, head - 3);
    if (seqno > head + 1) seqno = head + 1;
    const { length } = chain().block(seqno)?.transactions ?? [];
    const limit = length > LARGE_BLOCK ? 1000 : random.pick([3, 100]);
    for (let offset = 0; goesOn() && offset <= length; offset += limit) {
      const page: Call = { operation: 'transactionsByMasterchainBlock', seqno, limit, offset };
      await ask(random.chance(0.1) ? { ...page, noAddressBook: true } : page);
    }
    const blocks = { operation: 'blocks', seqno: seqno + random.int(-20, 1) } as const;
    await ask(random.chance(0.5) ? { ...blocks, isAlone: true } : blocks);
    await pause(random.pick([50, 250]));
  }
}

function variant(random: SeededRandom): Pick<Call, 'actionsVersion' | 'noAddressBook' | 'noMetadata'> {
  const actionsVersion = pick(random, WORDS);
  return {
    ...(actionsVersion === undefined ? {} : { actionsVersion }),
    ...(random.chance(0.1) ? { noAddressBook: true } : {}),
    ...(random.chance(0.1) ? { noMetadata: true } : {}),
  };
}

function tracesNear(chain: Chain, from: number, to: number): readonly Trace[] {
  return chain.recentTraces(TRACES_BACK).filter(({ emulatedAt }) => emulatedAt >= from && emulatedAt <= to);
}

function pick<T>(random: SeededRandom, list: readonly T[]): T | undefined {
  return list[random.int(0, list.length - 1)];
}
