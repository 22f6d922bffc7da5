import type { Account } from '../simulator/accounts.ts';
import type { Chain } from '../simulator/chain.ts';
import { addressSpellings } from '../simulator/spellings.ts';
import { type ClientCall, type Spelling, targetOf } from './client.ts';

/** What a newcomer is shown. Transaction and masterchain block are final, and stay in the chain's window for long. */
export interface Examples {
  readonly account: Account;
  readonly hash: string;
  readonly seqno: number;
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
export function firstCalls({ account, hash, seqno }: Examples): readonly {
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
