/** What clients request about their accounts. */
export type Asked = 'transactions' | 'transactions, no address book' | 'addressInformation';

/** The clients in front of the instances. */
export interface Case {
  readonly name: string;
  readonly accounts: number;
  /** Owners of jettons: one client polls the wallets of each, and another one its incoming transfers. */
  readonly owners: number;
  /** The rows of other accounts in a round, in addition to those in traces. */
  readonly otherRows: number;
  /** Messages that begin traces: with 4 of them a round has some 20 rows of traces. Without, few rounds have a jetton wallet. */
  readonly messagesPerBlock: number;
  readonly asks: readonly Asked[];
  /** How often each client polls, ms. */
  readonly everyMs: number;
  readonly instances: number;
  /** True if all requests of a client go to one instance, as with a hash of the account at the load balancer. */
  readonly keepsToInstance: boolean;
  /** The number of scanners that read each block, and the form of their pages. */
  readonly scanners: number;
  readonly scannersAsk: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** The form of the pages that the proof reads as well. */
const DOCUMENTED = 'limit=1000&sort=asc&x_no_address_book=true';

const USUAL: Omit<Case, 'name'> = {
  accounts: 600,
  owners: 0,
  otherRows: 0,
  messagesPerBlock: 4,
  asks: ['transactions'],
  everyMs: 3000,
  instances: 2,
  keepsToInstance: true,
  scanners: 0,
  scannersAsk: DOCUMENTED,
  settings: { CACHE_OPERATIONS: 'all' },
};

const UNNAMED: Case['asks'] = ['transactions, no address book', 'addressInformation'];

const OF_OWNERS: Omit<Case, 'name'> = {
  ...USUAL,
  accounts: 0,
  otherRows: 10,
  instances: 1,
  settings: { CACHE_OPERATIONS: 'all', PASSTHROUGH: 'on' },
};

/** Unless a case differs, 600 clients poll the transactions of one account each, every 3 s. */
export const CASES: readonly Case[] = [
  ...[1, 2, 4, 8].map((instances) => ({ name: `hashed, ${instances}`, ...USUAL, instances })),
  ...[2, 4, 8].map((instances) => ({ name: `round robin, ${instances}`, ...USUAL, instances, keepsToInstance: false })),
  { name: '600, passed through', ...USUAL, settings: { PASSTHROUGH: 'on' } },
  { name: '600, states and no address book', ...USUAL, asks: UNNAMED },
  { name: '1000, states and no address book', ...USUAL, accounts: 1000, asks: UNNAMED },
  { name: '600, every 30 s', ...USUAL, everyMs: 30_000 },
  { name: '20', ...USUAL, accounts: 20 },
  { name: '20 scanners alone', ...USUAL, accounts: 0, scanners: 20 },
  { name: '600, and 20 scanners', ...USUAL, scanners: 20 },
  { name: '20 scanners of another form alone', ...USUAL, accounts: 0, scanners: 20, scannersAsk: 'limit=500' },
  { name: '600, and 20 scanners of another form', ...USUAL, scanners: 20, scannersAsk: 'limit=500' },
  ...[100, 300, 1000].map((owners) => ({ name: `${owners} owners`, ...OF_OWNERS, owners })),
  { name: '300 owners, and 20 scanners', ...OF_OWNERS, owners: 300, scanners: 20 },
  // 59 % of the blocks have no jetton wallet.
  { name: '100 owners, quiet chain', ...OF_OWNERS, owners: 100, messagesPerBlock: 0 },
];
