import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import type { Indexer } from '../simulator/indexer.ts';
import { addressSpellings } from '../simulator/spellings.ts';
import { Client, type ClientCall, type HeardAnswer, isHit, type Spelling, targetOf } from './client.ts';
import type { Score } from './score.ts';
import type { Screen } from './screen.ts';

/** What a newcomer is shown. Transaction and masterchain block are final, and stay in the chain's window for long. */
export interface Examples {
  readonly account: Account;
  readonly hash: string;
  readonly seqno: number;
}

/** What the steps before the crowd work with. */
export interface FirstSteps {
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly indexer: Indexer;
  readonly proxyUrl: string;
  readonly score: Score;
  readonly examples: Examples;
}

const HEX: Spelling = { address: 'raw', hash: 'hex', style: 'raw' };
const BASE64: Spelling = { address: 'bounceable', hash: 'base64', style: 'encoded' };
const BASE64URL: Spelling = { address: 'bounceableUrl', hash: 'base64urlUnpadded', style: 'raw' };
const NON_BOUNCEABLE: Spelling = { ...BASE64URL, address: 'nonBounceableUrl' };
/** A spelling that is allowed and that few clients use. */
export const LOUD: Spelling = { ...HEX, hash: 'hexPrefixed', style: 'loud' };

// In these the standard form of base64 differs from the one for URLs.
const HAS_SPECIAL = /[+/]/;
const POPULAR = 3;
const TRACES_BACK = 200;

/** Some wallets that will be looked at often; the first is the one for `examplesOf`. */
export function popularAccounts(chain: Chain): readonly Account[] {
  const { wallets } = chain.accounts;
  return wallets.filter((wallet) => HAS_SPECIAL.test(addressSpellings(wallet).bounceable)).slice(0, POPULAR);
}

/** Examples that are good for as long as the chain's window lasts; throws for a chain without a past. */
export function examplesOf(chain: Chain): Examples {
  const [account] = popularAccounts(chain);
  const settled = chain.recentTraces(TRACES_BACK).filter(({ goneAt }) => goneAt <= chain.now);
  const children = settled.flatMap(({ transactions }) => transactions).filter(({ parent }) => parent !== undefined);
  const transaction = children.find(({ hash }) => HAS_SPECIAL.test(hash));
  if (account === undefined || transaction === undefined) throw new Error('the chain has no past to show');
  return { account, hash: transaction.hash, seqno: transaction.seqno };
}

/** The calls that the demo makes by itself, each in two spellings. */
function firstCalls({ account, hash, seqno }: Examples): readonly {
  readonly call: ClientCall;
  readonly spelling: Spelling;
  readonly other: Spelling;
}[] {
  return [
    { call: { about: 'block', seqno }, spelling: HEX, other: LOUD },
    { call: { about: 'transaction', hash, direction: 'in' }, spelling: HEX, other: BASE64 },
    { call: { about: 'account', account }, spelling: NON_BOUNCEABLE, other: HEX },
  ];
}

/** Lines for a shell, by what they show. */
export function curlLines(
  proxyUrl: string,
  { account, hash, seqno }: Examples,
): ReadonlyMap<string, readonly string[]> {
  // No value holds a single quote in any spelling.
  const line = (call: ClientCall) => (spelling: Spelling) => `curl -I '${proxyUrl}${targetOf(call, spelling)}'`;
  return new Map([
    [
      'One account in four spellings',
      [HEX, BASE64URL, NON_BOUNCEABLE, BASE64].map(line({ about: 'account', account })),
    ],
    [
      'One transaction hash in three',
      [HEX, BASE64, BASE64URL].map(line({ about: 'transaction', hash, direction: 'in' })),
    ],
    ['One masterchain block', [HEX].map(line({ about: 'block', seqno }))],
  ]);
}

/** A single hit in a process that has just started shows the time of the JavaScript compiler: the median is shown. */
const HITS = 20;
const WARM_UP = 20;
const AT_ONCE = 100;

const NAME = 'the demo itself';
const PLAIN: Spelling = { address: 'raw', hash: 'hex', style: 'raw' };

/** A miss, hits on the same warm connection, and hits in another spelling, of each operation. Rejects on the signal. */
export async function showHits(steps: FirstSteps): Promise<void> {
  const { screen, signal, indexer, proxyUrl, examples } = steps;
  screen.heading(`A miss, then ${HITS} hits on the same connection, then ${HITS} in another spelling (median time)`);
  for (let times = 0; times < WARM_UP; times++) await (await fetch(proxyUrl, { signal })).text();
  await untilPending(indexer, examples, signal);
  for (const { call, spelling, other } of firstCalls(examples)) {
    screen.request(targetOf(call, spelling));
    const [first] = await ask(steps, call, spelling, 1);
    if (first !== undefined) screen.answer(first);
    showMedian(screen, await ask(steps, call, spelling, HITS));
    screen.request(targetOf(call, other));
    showMedian(screen, await ask(steps, call, other, HITS));
  }
}

/** Many clients ask for one block that nobody has asked for: the indexer sees one request. */
export async function showCoalescing(steps: FirstSteps): Promise<void> {
  const { screen, indexer, examples } = steps;
  const call: ClientCall = { about: 'block', seqno: examples.seqno - 1 };
  screen.heading(`${AT_ONCE} clients ask for another block at once`);
  screen.request(targetOf(call, PLAIN));
  const before = indexer.requests.count('masterchainBlockShards');
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(steps, call, PLAIN, 1)));
  const right = answers.flat().filter(({ status }) => status === 200).length;
  const upstream = indexer.requests.count('masterchainBlockShards') - before;
  screen.line(`      ${right} answers, ${upstream} request${upstream === 1 ? '' : 's'} to the indexer`);
}

/** Another instance on the same Redis answers what the first one stored, without the indexer. */
export async function showSecondInstance(steps: FirstSteps, secondUrl: string): Promise<void> {
  const { screen, examples } = steps;
  const call: ClientCall = { about: 'block', seqno: examples.seqno };
  screen.heading(`A second instance on the same Redis, ${secondUrl}, asked for the first block`);
  screen.request(targetOf(call, PLAIN));
  const [answer] = await ask({ ...steps, proxyUrl: secondUrl }, call, PLAIN, 1);
  if (answer !== undefined) screen.answer(answer);
}

/** One after the other, until one is wrong; all answers are scored, and those that came are given. */
async function ask(steps: FirstSteps, call: ClientCall, spelling: Spelling, times: number): Promise<HeardAnswer[]> {
  const { signal, proxyUrl, score } = steps;
  const answers: HeardAnswer[] = [];
  const heard = (answer: HeardAnswer) => {
    answers.push(answer);
    return score.add(answer);
  };
  const client = new Client({ name: NAME, spelling, proxyUrl, signal, heard });
  for (let time = 0; time < times; time++) if ((await client.ask(call)) === undefined) break;
  return answers;
}

/** Of the hits: on a slow machine a live answer ends its lifetime meanwhile, and a miss is among them. */
function showMedian(screen: Screen, answers: readonly HeardAnswer[]): void {
  const hits = answers.filter(isHit);
  const inOrder = (hits.length > 0 ? hits : answers).toSorted((a, b) => a.tookMs - b.tookMs);
  const median = inOrder[Math.floor(inOrder.length / 2)];
  if (median !== undefined) screen.answer(median);
}

/** Something has to be under way at the account that is shown. */
async function untilPending({ chain }: Indexer, { account }: Examples, signal: AbortSignal): Promise<void> {
  const trace = chain.trace(chain.send(account));
  await delay(Math.max(0, (trace?.emulatedAt ?? 0) - chain.now), undefined, { signal });
}
