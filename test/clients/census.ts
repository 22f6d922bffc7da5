/**
 * The fate of a request with the settings in {@link SETTINGS}:
 * `cached`: a repetition within the lifetime is a hit; `proven`: also later, while no block touches the account;
 * `collapsed`: identical requests at the same moment reach the indexer once; `passed`: each request reaches the indexer.
 */
export type Fate = 'cached' | 'proven' | 'collapsed' | 'passed';

/** A request in the exact form in which public clients send it. */
export interface CensusRow {
  readonly client: string;
  readonly use: string;
  /** The interval between two polls. `undefined`: on demand. */
  readonly everySeconds?: number;
  /**
   * Path and query below `/api/v3/`. Words in capitals are values: `ACCOUNT`, `OTHER` (a second account), `MASTER` (of a
   * jetton), `WALLET` (of the account and this jetton), `POOL` (a contract), `CELL` (the account as a cell), `TX` (in hex:
   * `HEX`), `MESSAGE`, `EXTERNAL` (the message of a trace), `SEQNO`, `LT`, and `NOW`, which differs in each request.
   */
  readonly path: string;
  /** The body of a `POST`, with the same words; `undefined` for a `GET`. */
  readonly body?: string;
  readonly fate: Fate;
  readonly why: string;
}

/** The settings of docs/start/your-clients.md. */
export const SETTINGS = { CACHE_OPERATIONS: 'all,passthrough', PASSTHROUGH: 'on' };

const PROVEN = 'blocks show every change to the account';
const PROVEN_BY_OWNER = 'blocks and owner look-ups show every change';
const FINAL = 'a final response is cached';
const OWN_PATH = 'not a cached operation';
const NO_FORM = 'this form is not cached';

/** The requests of public clients, from their code; intervals as in their code. */
export const CENSUS = {
  balance: {
    client: 'AppKit, walletkit',
    use: 'balance, in the template',
    everySeconds: 15,
    path: 'addressInformation?include_boc=true&address=ACCOUNT',
    fate: 'proven',
    why: `${PROVEN}; the indexer ignores \`include_boc\` here`,
  },
  jettons: {
    client: 'AppKit, walletkit',
    use: 'jettons, in the template',
    everySeconds: 15,
    path: 'jetton/wallets?owner_address=ACCOUNT&offset=0&limit=50',
    fate: 'proven',
    why: PROVEN_BY_OWNER,
  },
  nfts: {
    client: 'AppKit, walletkit',
    use: 'NFTs, in the template',
    everySeconds: 15,
    path: 'nft/items?owner_address=ACCOUNT&limit=10&offset=0',
    fate: 'collapsed',
    why: `${OWN_PATH}: transactions of other accounts change the list`,
  },
  widgetBalance: {
    client: 'AppKit, walletkit',
    use: 'balance, in widgets (swap, staking, onramp)',
    everySeconds: 5,
    path: 'addressInformation?include_boc=true&address=ACCOUNT',
    fate: 'proven',
    why: PROVEN,
  },
  widgetWalletAddress: {
    client: 'AppKit, walletkit',
    use: '`get_wallet_address` for each token, in widgets',
    everySeconds: 5,
    path: 'runGetMethod',
    body: '{"address":"MASTER","method":"get_wallet_address","stack":[{"type":"slice","value":"CELL"}]}',
    fate: 'proven',
    why: 'the code and data of the jetton master have not changed',
  },
  widgetWalletData: {
    client: 'AppKit, walletkit',
    use: '`get_wallet_data` for each token, in widgets',
    everySeconds: 5,
    path: 'runGetMethod',
    body: '{"address":"WALLET","method":"get_wallet_data","stack":[]}',
    fate: 'proven',
    why: 'the wallet has had no transaction since the last result',
  },
  stakingPool: {
    client: 'AppKit, walletkit',
    use: '`get_pool_full_data`, in the staking widget',
    everySeconds: 5,
    path: 'runGetMethod',
    body: '{"address":"POOL","method":"get_pool_full_data","stack":[]}',
    fate: 'collapsed',
    why: 'the method reads the time, so only requests within 100 ms are collapsed',
  },
  stakingPoolBalance: {
    client: 'AppKit, walletkit',
    use: 'balance of the pool, in the staking widget',
    everySeconds: 5,
    path: 'addressInformation?include_boc=true&address=POOL',
    fate: 'proven',
    why: PROVEN,
  },
  waitPending: {
    client: 'AppKit, walletkit',
    use: 'wait for a sent message',
    everySeconds: 2,
    path: 'pendingTraces?ext_msg_hash=EXTERNAL',
    fate: 'cached',
    why: 'cached for 400 ms, or for 1 s once the trace is final',
  },
  waitTransaction: {
    client: 'AppKit, walletkit',
    use: 'wait for a sent message, if no trace is pending',
    everySeconds: 2,
    path: 'traces?tx_hash=EXTERNAL',
    fate: 'collapsed',
    why: 'an empty list is not cached',
  },
  waitTrace: {
    client: 'AppKit, walletkit',
    use: 'wait for a sent message, in parallel with `tx_hash`',
    everySeconds: 2,
    path: 'traces?trace_id=EXTERNAL',
    fate: 'collapsed',
    why: 'an empty list is not cached',
  },
  waitMessage: {
    client: 'AppKit, walletkit',
    use: 'wait for a sent message, in parallel with `tx_hash`',
    everySeconds: 2,
    path: 'traces?msg_hash=EXTERNAL',
    fate: 'cached',
    why: 'the older the trace, the longer it is cached',
  },
  history: {
    client: 'AppKit, walletkit',
    use: 'transactions',
    path: 'transactions?account=ACCOUNT&limit=10&offset=0',
    fate: 'proven',
    why: PROVEN,
  },
  states: {
    client: 'AppKit, walletkit',
    use: 'the state of one account',
    path: 'accountStates?address=ACCOUNT&include_boc=true',
    fate: 'proven',
    why: PROVEN,
  },
  jettonMaster: {
    client: 'AppKit, walletkit',
    use: 'a jetton master',
    path: 'jetton/masters?address=OTHER&offset=0&limit=1',
    fate: 'proven',
    why: PROVEN,
  },
  names: {
    client: 'AppKit, walletkit',
    use: 'a DNS name',
    path: 'dns/records?domain=alice.ton&limit=1&offset=0',
    fate: 'collapsed',
    why: OWN_PATH,
  },
  pendingTransactions: {
    client: 'AppKit, walletkit',
    use: 'pending transactions',
    path: 'pendingTransactions?account=ACCOUNT',
    fate: 'collapsed',
    why: OWN_PATH,
  },
  send: {
    client: 'AppKit, walletkit',
    use: 'send a message',
    path: 'message',
    body: '{"boc":"te6cckEBAQEAAgAAAEysuc0="}',
    fate: 'passed',
    why: 'each message is sent once',
  },
  trace: {
    client: 'AppKit, walletkit',
    use: 'a trace',
    path: 'traces?tx_hash=TX',
    fate: 'cached',
    why: FINAL,
  },
  events: {
    client: 'AppKit, walletkit',
    use: 'events of an account',
    path: 'traces?account=ACCOUNT&limit=20&offset=0',
    fate: 'collapsed',
    why: `${NO_FORM}: later transactions in other accounts change a trace`,
  },
  byBody: {
    client: 'AppKit, walletkit',
    use: 'a message by its body',
    path: 'transactionsByMessage?body_hash=MESSAGE',
    fate: 'collapsed',
    why: `${NO_FORM}: other messages may have the same body`,
  },
  walletActions: {
    client: 'MyTonWallet',
    use: 'actions (every 3 s without a stream)',
    everySeconds: 66,
    path: 'actions?account=ACCOUNT&limit=50&start_utime=1717185600&sort=desc&_=NOW',
    fate: 'collapsed',
    why: `${OWN_PATH}: actions change without a transaction`,
  },
  walletPendingActions: {
    client: 'MyTonWallet',
    use: 'pending actions (every 3 s without a stream)',
    everySeconds: 66,
    path: 'pendingActions?account=ACCOUNT&_=NOW',
    fate: 'collapsed',
    why: OWN_PATH,
  },
  walletJettons: {
    client: 'MyTonWallet',
    use: 'jettons (every 3 s without a stream)',
    everySeconds: 66,
    path: 'jetton/wallets?owner_address=ACCOUNT&exclude_zero_balance=false&limit=1000&offset=0&_=NOW',
    fate: 'proven',
    why: `${PROVEN_BY_OWNER}; toncache ignores \`_\``,
  },
  walletState: {
    client: 'MyTonWallet',
    use: 'wallet state (every 3 s without a stream)',
    everySeconds: 60,
    path: 'walletStates?address=ACCOUNT&_=NOW',
    fate: 'proven',
    why: `${PROVEN}; toncache ignores \`_\``,
  },
  walletHistory: {
    client: 'MyTonWallet',
    use: 'transactions',
    path: 'transactions?account=ACCOUNT&limit=100&start_utime=1717185600&sort=desc&_=NOW',
    fate: 'proven',
    why: `${PROVEN}; toncache ignores \`_\``,
  },
  walletPendingTrace: {
    client: 'MyTonWallet',
    use: 'a pending trace',
    path: 'pendingTraces?ext_msg_hash=EXTERNAL&include_actions=true&_=NOW',
    fate: 'cached',
    why: 'cached for 400 ms, or for 1 s once the trace is final',
  },
  walletTrace: {
    client: 'MyTonWallet',
    use: 'a trace by its message',
    path: 'traces?msg_hash=MESSAGE&include_actions=true&_=NOW',
    fate: 'cached',
    why: 'the older the trace, the longer it is cached',
  },
  deposits: {
    client: 'Deposit bots',
    use: 'transactions',
    everySeconds: 5,
    path: 'transactions?account=ACCOUNT&limit=20',
    fate: 'proven',
    why: PROVEN,
  },
  depositsSorted: {
    client: 'Deposit bots',
    use: 'transactions, sorted',
    everySeconds: 5,
    path: 'transactions?account=ACCOUNT&limit=10&sort=desc',
    fate: 'proven',
    why: PROVEN,
  },
  depositsUnlimited: {
    client: 'Deposit bots',
    use: 'transactions without a limit',
    everySeconds: 5,
    path: 'transactions?account=ACCOUNT',
    fate: 'proven',
    why: PROVEN,
  },
  hotWallets: {
    client: 'Deposit bots',
    use: 'two accounts in one request',
    everySeconds: 5,
    path: 'transactions?account=ACCOUNT&account=OTHER&limit=20',
    fate: 'collapsed',
    why: `${NO_FORM}: request each account separately`,
  },
  botBalance: {
    client: 'Deposit bots',
    use: 'balance',
    everySeconds: 5,
    path: 'addressInformation?address=ACCOUNT',
    fate: 'proven',
    why: PROVEN,
  },
  jettonBalance: {
    client: 'Deposit bots',
    use: 'balance of a jetton',
    everySeconds: 10,
    path: 'jetton/wallets?owner_address=ACCOUNT&jetton_address=OTHER&limit=1',
    fate: 'proven',
    why: PROVEN_BY_OWNER,
  },
  jettonDeposits: {
    client: 'Deposit bots',
    use: 'transfers of jettons',
    everySeconds: 10,
    path: 'jetton/transfers?owner_address=ACCOUNT&direction=in&limit=50',
    fate: 'proven',
    why: PROVEN_BY_OWNER,
  },
  headOfChain: {
    client: 'Block scanners',
    use: 'head',
    everySeconds: 1,
    path: 'masterchainInfo',
    fate: 'cached',
    why: 'cached for 400 ms, about the time between two blocks',
  },
  blockPage: {
    client: 'Block scanners',
    use: 'transactions of a block',
    everySeconds: 1,
    path: 'transactionsByMasterchainBlock?seqno=SEQNO&limit=256&offset=0',
    fate: 'cached',
    why: FINAL,
  },
  shardState: {
    client: 'Block scanners',
    use: 'shard state (Acton)',
    path: 'masterchainBlockShardState?seqno=SEQNO',
    fate: 'collapsed',
    why: `${OWN_PATH}, but a collapsed response is reused for 400 ms`,
  },
  explorerBlock: {
    client: 'Explorers',
    use: 'transactions of a shard block',
    path: 'transactions?workchain=-1&shard=8000000000000000&seqno=SEQNO&limit=100&offset=100',
    fate: 'collapsed',
    why: `${NO_FORM}: use \`transactionsByMasterchainBlock\``,
  },
  explorerPage: {
    client: 'Explorers',
    use: 'older transactions',
    path: 'transactions?account=ACCOUNT&limit=100&sort=desc&end_lt=LT',
    fate: 'collapsed',
    why: `${NO_FORM}: blocks cannot prove a page with an upper limit`,
  },
  explorerOffset: {
    client: 'Explorers',
    use: 'the next page',
    path: 'transactions?account=ACCOUNT&limit=100&offset=100&sort=desc',
    fate: 'collapsed',
    why: `${NO_FORM}: each new transaction shifts the page`,
  },
  explorerWindow: {
    client: 'Explorers',
    use: 'transactions of a period',
    path: 'transactions?account=ACCOUNT&start_utime=1717185600&end_utime=1718913599&limit=30&offset=0&sort=desc',
    fate: 'collapsed',
    why: `${NO_FORM}: blocks cannot prove a page with an upper limit`,
  },
  explorerMessage: {
    client: 'Explorers',
    use: 'transactions of a message',
    path: 'transactionsByMessage?msg_hash=MESSAGE&limit=10&offset=0',
    fate: 'cached',
    why: FINAL,
  },
  payment: {
    client: 'Payment pages',
    use: 'a transaction',
    path: 'transactions?hash=HEX&limit=1',
    fate: 'cached',
    why: FINAL,
  },
  paymentActions: {
    client: 'Payment pages',
    use: 'transfers to an account',
    everySeconds: 3,
    path: 'actions?account=ACCOUNT&action_type=ton_transfer&limit=50&sort=desc',
    fate: 'collapsed',
    why: `${OWN_PATH}: actions change without a transaction`,
  },
  anotherService: {
    client: 'Payment pages',
    use: 'balance with `use_v2`',
    path: 'addressInformation?address=ACCOUNT&use_v2=true',
    fate: 'collapsed',
    why: 'the indexer gets the balance from another service, so blocks cannot prove it: leave out `use_v2`',
  },
  pythonBalance: {
    client: 'Python `toncenter`',
    use: 'balance with `use_v2=False`',
    path: 'addressInformation?address=ACCOUNT&use_v2=false',
    fate: 'proven',
    why: `${PROVEN}; \`use_v2=false\` is the indexer's default`,
  },
} as const satisfies Readonly<Record<string, CensusRow>>;

/** Replaces the words in capitals. Each value is used as given, so a query needs percent-encoded ones. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\b[A-Z]+\b/g, (word) => values[word] ?? word);
}
