import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import type { Indexer } from '../simulator/indexer.ts';
import { addressSpellings } from '../simulator/spellings.ts';
import { isHit } from '../verify/cache-headers.ts';
import { CANONICAL, Client, type ClientCall, type HeardAnswer, type Spelling, targetOf } from './client.ts';
import type { Score } from './score.ts';
import type { Screen } from './screen.ts';

/** A call for newcomers, in one or several spellings. */
export interface Example {
  readonly call: ClientCall;
  readonly spellings: readonly [Spelling, ...Spelling[]];
}

/** Calls that belong together. */
export interface Examples {
  /** Of the three operations that are always cached, by a short name. */
  readonly always: Readonly<Record<string, Example>>;
  /** One of each further operation. */
  readonly further: readonly Example[];
}

/** The context of the steps before the crowd. */
export interface FirstSteps {
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly indexer: Indexer;
  readonly proxyUrl: string;
  readonly score: Score;
}

const BASE64: Spelling = { address: 'bounceable', hash: 'base64', style: 'encoded' };
const BASE64URL: Spelling = { address: 'bounceableUrl', hash: 'base64urlUnpadded', style: 'raw' };

// A text with one of these characters differs between standard base64 and base64url.
const HAS_SPECIAL = /[+/]/;

/** Some wallets that will be looked at often. */
export function popularAccounts({ accounts }: Chain): readonly Account[] {
  return accounts.wallets.filter((it) => HAS_SPECIAL.test(addressSpellings(it).bounceable)).slice(0, 3);
}

/** Calls that can be repeated as long as they are in the chain's window; throws for a chain without a past. */
export function examplesOf(chain: Chain): Examples {
  const [account] = popularAccounts(chain);
  const settled = chain.recentTraces(200).filter(({ goneAt }) => goneAt <= chain.now);
  const children = settled.flatMap(({ transactions }) => transactions).filter(({ parent }) => parent !== undefined);
  const transaction = children.findLast(({ hash }) => HAS_SPECIAL.test(hash));
  const [master] = chain.jettons.masters;
  if (account === undefined || master === undefined || transaction?.messageHash === undefined)
    throw new Error('the chain has no past to show');
  const { hash, seqno, messageHash } = transaction;
  const further: readonly ClientCall[] = [
    { about: 'head' },
    { about: 'blocks', seqno },
    { about: 'block-transactions', seqno },
    { about: 'trace', hash },
    { about: 'row', hash },
    { about: 'message-rows', messageHash },
    { about: 'state', account },
    { about: 'wallet', account },
    { about: 'account-state', account },
    { about: 'wallet-state', account },
    { about: 'jetton-master', account: master },
    { about: 'jetton-wallets', account },
    { about: 'jetton-transfers', account },
  ];
  return {
    always: {
      'One masterchain block': {
        call: { about: 'block', seqno },
        // An allowed spelling that few clients use.
        spellings: [CANONICAL, { ...CANONICAL, style: 'loud' }],
      },
      'One transaction hash in three spellings': {
        call: { about: 'transaction', hash, direction: 'in' },
        spellings: [CANONICAL, BASE64, BASE64URL],
      },
      'One account in four': {
        call: { about: 'account', account },
        spellings: [{ ...BASE64URL, address: 'nonBounceableUrl' }, CANONICAL, BASE64URL, BASE64],
      },
    },
    further: further.map((call) => ({ call, spellings: [CANONICAL] })),
  };
}

/** A single hit in a new process shows the time of the JavaScript compiler: the median is shown. */
const HITS = 20;
const AT_ONCE = 100;

/** A miss, hits on the same warm connection, and hits in another spelling, of each example. Rejects on the signal. */
export async function showHits(steps: FirstSteps, { always, further }: Examples): Promise<void> {
  const { screen, proxyUrl, signal } = steps;
  screen.heading(`A miss, then ${HITS} hits on the same connection, then ${HITS} in another spelling (median time)`);
  // Warms the process up.
  for (let times = 0; times < HITS; times++) await (await fetch(proxyUrl, { signal })).text();
  for (const example of Object.values(always)) await showHitsOf(steps, example);
  screen.heading('Further operations, cached because CACHE_OPERATIONS names them: a miss, then hits');
  for (const example of further) await showHitsOf(steps, example);
}

async function showHitsOf(steps: FirstSteps, { call, spellings }: Example): Promise<void> {
  const { screen, indexer } = steps;
  const [spelling, other] = spellings;
  // The account needs a pending trace.
  if (call.about === 'account') indexer.chain.send(call.account);
  screen.line(`  GET ${targetOf(call, spelling)}`);
  showMedian(screen, await ask(steps, call, spelling, 1));
  showMedian(screen, await ask(steps, call, spelling, HITS));
  if (other === undefined) return;
  screen.line(`  GET ${targetOf(call, other)}`);
  showMedian(screen, await ask(steps, call, other, HITS));
}

/** Many clients request one new block: the indexer sees one request. */
export async function showCoalescing(steps: FirstSteps, seqno: number): Promise<void> {
  const { screen, indexer } = steps;
  const call: ClientCall = { about: 'block', seqno };
  screen.heading(`${AT_ONCE} clients request another block at once`);
  screen.line(`  GET ${targetOf(call, CANONICAL)}`);
  const before = indexer.requests.count('masterchainBlockShards');
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(steps, call, CANONICAL, 1)));
  const upstream = indexer.requests.count('masterchainBlockShards') - before;
  screen.line(
    `      ${answers.flat().length} responses, ${upstream} request${upstream === 1 ? '' : 's'} to the indexer`,
  );
}

/** Sends requests one after the other. All answers are scored, and the right ones are returned. */
async function ask(steps: FirstSteps, call: ClientCall, spelling: Spelling, times: number): Promise<HeardAnswer[]> {
  const { signal, proxyUrl, score } = steps;
  const client = new Client({ name: 'the demo itself', spelling, proxyUrl, signal, heard: score.add });
  const answers: (HeardAnswer | undefined)[] = [];
  for (let time = 0; time < times; time++) answers.push(await client.ask(call));
  return answers.filter((answer) => answer !== undefined);
}

/** Of the hits: on a slow machine a live answer may expire in between, so that a miss is among them. */
function showMedian(screen: Screen, answers: readonly HeardAnswer[]): void {
  const hits = answers.filter(({ cacheStatus }) => isHit(cacheStatus));
  const inOrder = (hits.length > 0 ? hits : answers).toSorted((a, b) => a.tookMs - b.tookMs);
  const median = inOrder[Math.floor(inOrder.length / 2)];
  if (median !== undefined) screen.answer(median);
}
