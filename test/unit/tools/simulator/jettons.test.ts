import { describe, expect, it } from 'vitest';
import type { Account } from '../../../../src/tools/simulator/accounts.ts';
import { answer } from '../../../../src/tools/simulator/answer.ts';
import { Chain } from '../../../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../../../src/tools/simulator/dialect.ts';
import type { JettonAct } from '../../../../src/tools/simulator/jetton-act.ts';
import { SimulatorQuestion } from '../../../../src/tools/simulator/question.ts';

const START = Date.UTC(2026, 0, 1);
const BLOCK_MS = 400;
const DIALECTS = ['1.2', '1.3'] as const;

interface Wallet {
  readonly address: string;
  readonly owner: string;
  readonly jetton: string;
  readonly balance: string;
  readonly last_transaction_lt: string;
}

interface Row {
  readonly account: string;
  readonly hash: string;
  readonly lt: string;
  readonly description: { readonly aborted: boolean; readonly destroyed: boolean };
  readonly account_state_before: { readonly account_status: string; readonly code_hash: string | null };
  readonly account_state_after: { readonly account_status: string; readonly code_hash: string | null };
  readonly in_msg: {
    readonly opcode: string;
    readonly source: string | null;
    readonly message_content: { readonly body: string } | null;
  } | null;
}

/** A chain without messages of its own, in which a test sends messages, one block after the other. */
class Script {
  readonly chain: Chain;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect = '1.3') {
    this.#dialect = dialect;
    const jettons = { owners: 0, everyMs: Number.POSITIVE_INFINITY };
    this.chain = new Chain({ startAt: START, blockMs: BLOCK_MS, messagesPerBlock: 0, historyBlocks: 300, jettons });
    this.blocks(30);
  }

  owner(n: number): Account {
    return this.chain.accounts.wallets[n] as Account;
  }

  master(n = 0): Account {
    return this.chain.jettons.masters[n] as Account;
  }

  walletOf(owner: Account, master = this.master()): Account {
    return this.chain.jettons.walletOf(owner, master);
  }

  /** Puts messages into the next block. Returns its seqno; it begins with the next call of `blocks`. */
  act(...acts: readonly (readonly [account: Account, act: JettonAct])[]): number {
    const at = this.chain.clock.committedAt(this.chain.headSeqno + 1);
    for (const [account, act] of acts) this.chain.act(account, act, at);
    return this.chain.headSeqno + 1;
  }

  blocks(count: number): void {
    this.chain.advanceTo(this.chain.clock.committedAt(this.chain.headSeqno + count));
  }

  /** An owner gets 100 coins, and its wallet has received them. */
  minted(owner: Account, master = this.master()): Account {
    this.act([master, { kind: 'mint', to: owner, amount: 100 }]);
    this.blocks(3);
    return this.walletOf(owner, master);
  }

  ask(path: string, instant = this.chain.now) {
    const asked = { method: 'GET', target: `/api/v3/${path}`, headers: {} };
    const { status, body } = answer(
      new SimulatorQuestion(asked, { chain: this.chain, dialect: this.#dialect, instant }),
    );
    return { status, body: JSON.parse(String(body)) };
  }

  wallets(query: string, instant?: number): readonly Wallet[] {
    return this.ask(`jetton/wallets?${query}`, instant).body.jetton_wallets;
  }

  owned(owner: Account, instant?: number): readonly (readonly [address: string, balance: string])[] {
    return this.wallets(`owner_address=${owner.address}`, instant).map(({ address, balance }) => [address, balance]);
  }

  transfers(query: string): readonly string[] {
    const { jetton_transfers: rows } = this.ask(`jetton/transfers?${query}`).body;
    return rows.map((row: { transaction_hash: string }) => row.transaction_hash);
  }

  /** The rows of accounts in the page of a block. */
  rows(seqno: number): readonly Row[] {
    const page: readonly Row[] = this.ask(`transactionsByMasterchainBlock?seqno=${seqno}&limit=1000`).body.transactions;
    return page.filter(({ account }) => account !== this.chain.accounts.elector.address);
  }
}

describe.each(DIALECTS)('the jettons of the simulated indexer %s', (dialect) => {
  it('list a transfer with the block of the sender, and the coins of the recipient with a later block', () => {
    const script = new Script(dialect);
    const [from, to] = [script.owner(0), script.owner(1)];
    const wallet = script.minted(from);
    const seqno = script.act([wallet, { kind: 'send', from, to, amount: 30 }]);
    script.blocks(1);
    const [row] = script.rows(seqno);
    expect(row).toMatchObject({ account: wallet.address, in_msg: { opcode: '0x0f8a7ea5', source: from.address } });
    expect(script.owned(from)).toEqual([[wallet.address, '70']]);
    expect(script.owned(to)).toEqual([]);
    for (const query of [
      `owner_address=${to.address}&direction=in`,
      `owner_address=${to.address}`,
      `owner_address=${from.address}&direction=out`,
      `owner_address=${from.address}&direction=IN`,
      `owner_address=${from.address}&direction=`,
      `jetton_wallet=${wallet.address}`,
    ])
      expect([query, script.transfers(query)]).toEqual([query, [row?.hash]]);
    for (const query of [
      `owner_address=${from.address}&direction=in`,
      `owner_address=${to.address}&direction=out`,
      `owner_address=${to.address}&start_lt=${Number(row?.lt) + 1}`,
      `jetton_wallet=${script.walletOf(to).address}`,
    ])
      expect([query, script.transfers(query)]).toEqual([query, []]);
    script.blocks(2);
    expect(script.owned(to)).toEqual([[script.walletOf(to).address, '30']]);
  });

  it('deploy the wallet of a new owner, which no other row of the block names', () => {
    const script = new Script(dialect);
    const owner = script.owner(0);
    const minting = script.act([script.master(), { kind: 'mint', to: owner, amount: 5 }]);
    script.blocks(3);
    const [row] = [minting + 1, minting + 2].flatMap((seqno) => script.rows(seqno));
    const before = { account_status: 'uninit', code_hash: null };
    expect(row).toMatchObject({ account: script.walletOf(owner).address, account_state_before: before });
    expect(row?.in_msg).toMatchObject({ opcode: '0x178d4519', source: script.master().address });
    expect(JSON.stringify(row)).not.toContain(owner.address);
    expect(script.owned(owner)).toEqual([[script.walletOf(owner).address, '5']]);
    expect(script.ask(`jetton/masters?address=${script.master().address}`).body.jetton_masters).toMatchObject([
      { total_supply: '5' },
    ]);
    expect(script.transfers(`owner_address=${owner.address}`)).toEqual([]);
  });

  it('list an account that was active before among the wallets of its owner, as the last one', () => {
    const script = new Script(dialect);
    const [owner, account] = [script.owner(0), script.chain.accounts.contracts[0] as Account];
    const first = script.minted(owner);
    const seqno = script.act([account, { kind: 'become', owner, master: script.master(1) }]);
    script.blocks(1);
    const [row] = script.rows(seqno);
    expect([row?.account_state_before.account_status, row?.account_state_after.account_status]).toEqual([
      'active',
      'active',
    ]);
    expect(row?.account_state_after.code_hash).not.toBe(row?.account_state_before.code_hash);
    expect(script.owned(owner).map(([address]) => address)).toEqual([first.address, account.address]);
  });

  it('move a wallet with another owner to the other list', () => {
    const script = new Script(dialect);
    const [owner, other] = [script.owner(0), script.owner(1)];
    const wallet = script.minted(owner);
    script.act([wallet, { kind: 'give', to: other }]);
    script.blocks(1);
    expect([script.owned(owner), script.owned(other)]).toEqual([[], [[wallet.address, '100']]]);
  });

  it(`${dialect === '1.2' ? 'keep' : 'drop'} the row of a deleted wallet`, () => {
    const script = new Script(dialect);
    const owner = script.owner(0);
    const wallet = script.minted(owner);
    const seqno = script.act([wallet, { kind: 'delete' }]);
    script.blocks(1);
    const after = { account_status: 'nonexist', code_hash: null };
    expect(script.rows(seqno)).toMatchObject([{ description: { destroyed: true }, account_state_after: after }]);
    expect(script.owned(owner)).toEqual(dialect === '1.2' ? [[wallet.address, '100']] : []);
    expect(script.wallets(`address=${wallet.address}`)).toHaveLength(dialect === '1.2' ? 1 : 0);
    expect(script.ask(`accountStates?address=${wallet.address}`).body.accounts).toMatchObject([{ status: 'nonexist' }]);
  });

  it('show nothing new of a wallet that runs without being confirmed, but its state', () => {
    const script = new Script(dialect);
    const owner = script.owner(0);
    const wallet = script.minted(owner);
    const before = script.wallets(`owner_address=${owner.address}`);
    const seqno = script.act([wallet, { kind: 'unconfirmed' }]);
    script.blocks(1);
    const [row] = script.rows(seqno);
    expect(script.wallets(`owner_address=${owner.address}`)).toEqual(before);
    const states = script.ask(`accountStates?address=${wallet.address}&include_boc=false`).body.accounts;
    expect(states).toMatchObject([{ last_transaction_lt: row?.lt }]);
    expect(before.map((each) => each.last_transaction_lt)).not.toContain(row?.lt);
  });

  it('list neither an aborted transfer, nor one to an account that is no wallet', () => {
    const script = new Script(dialect);
    const [from, to] = [script.owner(0), script.owner(1)];
    const wallet = script.minted(from);
    const contract = script.chain.accounts.contracts[0] as Account;
    const seqno = script.act(
      [wallet, { kind: 'send', from, to, amount: 101 }],
      [wallet, { kind: 'send', from: to, to, amount: 1 }],
      [wallet, { kind: 'send', from, to: undefined, amount: 1 }],
      [contract, { kind: 'send', from, to, amount: 1 }],
      [contract, { kind: 'send', from, to, amount: 1, lacksBody: true }],
    );
    script.blocks(3);
    const rows = script.rows(seqno).toReversed();
    expect(rows.map(({ description }) => description.aborted)).toEqual([true, true, true, false, false]);
    expect(rows.map(({ in_msg: message }) => message?.opcode)).toEqual(Array(5).fill('0x0f8a7ea5'));
    expect(rows.at(-1)?.in_msg?.message_content).toBeNull();
    expect(script.transfers(`owner_address=${to.address}`)).toEqual([]);
    expect(script.owned(from)).toEqual([[wallet.address, '100']]);
  });
});

it('a row that was committed out of order never replaces a later one, and a deletion before it has no effect', () => {
  const script = new Script();
  const owner = script.owner(0);
  const { chain } = script;
  const wallet = script.walletOf(owner);
  const receive = { kind: 'receive', from: script.master(), owner, master: script.master(), amount: 1 } as const;
  const [first, then] = [script.act([wallet, receive]), chain.headSeqno + 2];
  chain.act(wallet, { kind: 'delete' }, chain.clock.committedAt(then));
  chain.delay(first, 2000);
  script.blocks(2);
  expect(script.owned(owner)).toEqual([]);
  script.blocks(5);
  expect(script.owned(owner)).toEqual([[wallet.address, '1']]);
  const last = script.act([wallet, receive]);
  chain.act(wallet, receive, chain.clock.committedAt(last + 1));
  chain.delay(last, 2000);
  script.blocks(2);
  expect(script.owned(owner)).toEqual([[wallet.address, '2']]);
  script.blocks(10);
  expect(script.owned(owner)).toEqual([[wallet.address, '2']]);
});

describe('the form of a request', () => {
  const script = new Script('1.2');
  const [rich, poor] = [script.owner(0), script.owner(1)];
  for (const master of [0, 1, 2]) script.minted(rich, script.master(master));
  const [one, two, three] = [0, 1, 2].map((n) => script.walletOf(rich, script.master(n)));
  if (one !== undefined && two !== undefined)
    script.act(
      [one, { kind: 'send', from: rich, to: poor, amount: 100 }],
      [two, { kind: 'send', from: rich, to: poor, amount: 1 }],
    );
  script.blocks(4);
  const addressesOf = (query: string) => script.wallets(query).map(({ address }) => address);
  const X = `owner_address=${rich.address}`;

  it.each([
    ['', [one, two, three]],
    ['&limit=2', [one, two]],
    ['&limit=2&offset=1', [two, three]],
    ['&exclude_zero_balance=true', [two, three]],
    ['&exclude_zero_balance=on', [two, three]],
    ['&exclude_zero_balance=', [one, two, three]],
    ['&exclude_zero_balance=0', [one, two, three]],
    ['&sort=asc', [one, two, three]],
    ['&sort=desc', [three, two, one]],
    [`&jetton_address=${script.master(1).address}`, [two]],
    [`&jetton_address=${script.master(1).address}&jetton_address=${script.master(2).address}`, [two, three]],
    [`&address=${two?.address}`, [two]],
  ])('selects the wallets of an owner by "%s"', (query, expected) => {
    expect(addressesOf(X + query)).toEqual(expected.map((wallet) => wallet?.address));
  });

  it('selects wallets by several addresses, and all for an empty one', () => {
    const both = [one?.address ?? '', two?.address ?? ''];
    expect(addressesOf(both.map((address) => `address=${address}`).join('&'))).toEqual(both.toSorted());
    expect(addressesOf('address=')).toHaveLength(5);
  });

  it('without both headers names no account', () => {
    const { body } = script.ask(`jetton/wallets?${X}&x_no_address_book=true&x_no_metadata=true`);
    expect(body).toMatchObject({ address_book: {}, metadata: {} });
    const named = script.ask(`jetton/wallets?${X}`).body;
    expect(Object.keys(named.address_book)).toContain(rich.address);
    expect(named.metadata[three?.address ?? '']).toMatchObject({
      token_info: [{ type: 'jetton_wallets', extra: { owner: rich.address, balance: '100' } }],
    });
  });

  it.each([
    ['jetton/wallets?sort=up', 500],
    [`jetton/wallets?jetton_address=${script.master(0).address}&jetton_address=${script.master(1).address}`, 422],
    ['jetton/wallets?limit=1001', 500],
    ['accountStates', 422],
    [`accountStates?address=${rich.address}&include_boc=no`, 422],
  ])('is refused: %s with %i', (path, status) => {
    expect(script.ask(path).status).toBe(status);
  });

  it('omits the code of accounts, and then takes none for a wallet', () => {
    const [account, stranger] = [one?.address, `0:${'1'.repeat(64)}`];
    const [state] = script.ask(`accountStates?address=${account}&address=${stranger}`).body.accounts;
    expect(state.code_boc).toBeDefined();
    expect(script.ask(`accountStates?address=${account}&include_boc=false`).body.accounts[0].code_boc).toBeUndefined();
    const sender = script.chain.accounts.wallets.find(({ address }) => script.chain.history(address).length > 0);
    script.chain.deposit(sender ?? rich, script.chain.now + BLOCK_MS);
    script.blocks(1);
    const states = (query: string) =>
      script.ask(`walletStates?address=${(sender ?? rich).address}${query}`).body.wallets;
    expect(states('')).toMatchObject([{ is_wallet: true }]);
    expect(states('&include_boc=0')).toMatchObject([{ is_wallet: false }]);
    expect(states('&include_boc=0')[0].seqno).toBeUndefined();
  });
});
