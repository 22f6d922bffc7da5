import { expect, it } from 'vitest';
import type { Account } from '../../../../src/tools/simulator/accounts.ts';
import { answer } from '../../../../src/tools/simulator/answer.ts';
import { Chain } from '../../../../src/tools/simulator/chain.ts';
import { BALANCE_METHOD, TIME_METHOD, TIME_STEP_MS } from '../../../../src/tools/simulator/get-methods.ts';
import { startIndexer } from '../../../../src/tools/simulator/indexer.ts';
import type { JettonAct } from '../../../../src/tools/simulator/jetton-act.ts';
import { pastAnswers } from '../../../../src/tools/simulator/past-answers.ts';
import { SimulatorQuestion } from '../../../../src/tools/simulator/question.ts';
import { renderTransaction } from '../../../../src/tools/simulator/render-transaction.ts';
import type { Transaction } from '../../../../src/tools/simulator/trace.ts';
import { readAddressCell, writeAddressCell } from '../../../../src/tools/simulator/transfer-body.ts';

const START = Date.UTC(2026, 0, 1);
const BLOCK_MS = 400;
const CELL = Buffer.from(writeAddressCell({ hash: Buffer.alloc(32, 7), workchain: -1 } as Account), 'base64');

function quietChain(): Chain {
  const jettons = { owners: 0, everyMs: Number.POSITIVE_INFINITY };
  const chain = new Chain({ startAt: START, blockMs: BLOCK_MS, messagesPerBlock: 0, historyBlocks: 300, jettons });
  chain.advanceTo(START + 20 * BLOCK_MS);
  return chain;
}

/** Puts a message into the next block, which begins. Returns the instant of its commit. */
function act(chain: Chain, account: Account, message?: JettonAct): number {
  const at = chain.clock.committedAt(chain.headSeqno + 1);
  if (message === undefined) chain.deposit(account, at);
  else chain.act(account, message, at);
  chain.advanceTo(at);
  return at;
}

function asked(address: string, method: unknown, stack: readonly object[] = []) {
  const body = Buffer.from(JSON.stringify({ address, method, stack }));
  return { method: 'POST', target: '/api/v3/runGetMethod', headers: {}, body };
}

function run(chain: Chain, { address }: Account, method: string, stack?: readonly object[], instant = chain.now) {
  const { status, body } = answer(
    new SimulatorQuestion(asked(address, method, stack), { chain, dialect: '1.3', instant }),
  );
  return { status, ...JSON.parse(String(body)) };
}

it('answers about a jetton as its tables do, at any instant', () => {
  const chain = quietChain();
  const [master] = chain.jettons.masters as [Account];
  const [owner] = chain.accounts.wallets as [Account];
  const wallet = chain.jettons.walletOf(owner, master);
  const slice = [{ type: 'slice', value: writeAddressCell(owner) }];
  const before = chain.now;
  act(chain, master, { kind: 'mint', to: owner, amount: 5 });
  for (let n = 0; n < 3; n++) act(chain, owner);
  expect(run(chain, master, 'get_jetton_data').stack[0]).toEqual({ type: 'num', value: '0x5' });
  expect(run(chain, master, 'get_jetton_data', [], before).stack[0]).toEqual({ type: 'num', value: '0x0' });
  expect(run(chain, master, 'get_wallet_address', slice).stack).toEqual([
    { type: 'cell', value: writeAddressCell(wallet) },
  ]);
  expect(run(chain, wallet, 'get_wallet_data').stack[0]).toEqual({ type: 'num', value: '0x5' });
  expect(run(chain, wallet, 'get_wallet_data', [], before)).toMatchObject({ exit_code: -13, stack: [] });
});

it('leaves the hashes of code and data of a master that runs without effect, and no others', () => {
  const chain = quietChain();
  const [master] = chain.jettons.masters as [Account];
  const hashes = () => {
    const latest = chain.executed(master.address).at(-1) as Transaction;
    const row = renderTransaction(latest, 'finalized', '1.3') as Record<
      'account_state_before' | 'account_state_after',
      { readonly code_hash: string; readonly data_hash: string }
    >;
    return [row.account_state_before, row.account_state_after].map(({ code_hash, data_hash }) => code_hash + data_hash);
  };
  act(chain, master);
  const [before, after] = hashes();
  expect(before).toBe(after);
  act(chain, master, { kind: 'mint', to: master, amount: 1 });
  expect(hashes()[0]).toBe(after);
  expect(hashes()[1]).not.toBe(after);
});

it('reads the time and the balance in the methods that do', () => {
  const chain = quietChain();
  const [master] = chain.jettons.masters as [Account];
  const balance = () => run(chain, master, BALANCE_METHOD).stack;
  const timed = (instant: number) => run(chain, master, TIME_METHOD, [], instant).stack;
  const first = balance();
  expect(balance()).toEqual(first);
  act(chain, master);
  expect(balance()).not.toEqual(first);
  expect(timed(chain.now)).not.toEqual(timed(chain.now - TIME_STEP_MS));
});

it('refuses as the API does', () => {
  const chain = quietChain();
  const statusOf = (request: object) =>
    answer(new SimulatorQuestion({ ...asked('', ''), ...request }, { chain, dialect: '1.3' })).status;
  const { address } = chain.jettons.masters[0] as Account;
  expect(statusOf(asked(address, ''))).toBe(401);
  expect(statusOf(asked('', 'seqno'))).toBe(401);
  expect(statusOf(asked('nonsense', 'seqno'))).toBe(500);
  expect(statusOf(asked(address, 'seqno', [{ type: 'continuation', value: '' }]))).toBe(500);
  expect(statusOf(asked(address, 'get_continuation'))).toBe(501);
  expect(statusOf(asked(address, 7))).toBe(500);
  expect(statusOf({ method: 'GET' })).toBe(405);
});

it('lists every instant at which an answer changes', () => {
  const chain = quietChain();
  const [master] = chain.jettons.masters as [Account];
  const request = asked(master.address, 'get_jetton_data');
  const at = act(chain, master, { kind: 'mint', to: master, amount: 1 });
  const last = pastAnswers(request, chain, '1.3').at(-1);
  expect(last?.fromAt).toBe(at);
  expect(last?.said().text).toBe(JSON.stringify({ ...run(chain, master, 'get_jetton_data'), status: undefined }));
});

it('runs on the state of its lite server, which the database may lack', async () => {
  const chain = new Chain({ startAt: Date.now() - 60_000, messagesPerBlock: 0 });
  const indexer = await startIndexer({ chain });
  try {
    const { address } = indexer.chain.accounts.elector;
    const { method, target, body } = asked(address, BALANCE_METHOD);
    const stackNow = async () => {
      const response = await fetch(indexer.url + target, { method, body });
      return (JSON.parse(await response.text()) as { readonly stack: object }).stack;
    };
    const instant = indexer.chain.now - 8000;
    indexer.liteServer = () => ({ chain: indexer.chain, at: instant });
    const old = await stackNow();
    expect(old).toEqual(run(indexer.chain, indexer.chain.accounts.elector, BALANCE_METHOD, [], instant).stack);
  } finally {
    await indexer.close();
  }
});

it('writes the address in a cell as others do, with a checksum or without', () => {
  expect(readAddressCell(CELL.toString('base64'))).toEqual({ workchain: -1, hash: Buffer.alloc(32, 7) });
  expect(readAddressCell('te6cckEBAQEAAgAAAEysuc0=')).toBeUndefined();
  // Of the zero address, as @ton/core writes it.
  expect(readAddressCell('te6cckEBAQEAJAAAQ4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABCMUefb')).toEqual({
    workchain: 0,
    hash: Buffer.alloc(32),
  });
});
