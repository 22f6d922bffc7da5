import type { SimulatedOperation } from '../operation.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderNames } from '../render-jettons.ts';
import { codeHashOf, dataHashOf } from '../render-transaction.ts';

/** The masters that are requested; all if none is given. None has an administrator. */
function asked(question: SimulatorQuestion): readonly string[] {
  const { masters } = question.chain.jettons.tables;
  const addresses = question.addressFilter('address');
  if (question.addressFilter('admin_address').length > 0) return [];
  return addresses.length === 0 ? masters : masters.filter((master) => addresses.includes(master));
}

/** Masters by their addresses. */
function answer(question: SimulatorQuestion): object {
  const { chain, databaseAt } = question;
  const found = asked(question).flatMap((address) => chain.jettons.tables.masterAt(address, databaseAt) ?? []);
  const rows = question.selectAll(found.slice(...question.page()));
  return {
    jetton_masters: rows.map(({ row: supply, transaction }) => ({
      address: transaction.account.address,
      total_supply: String(supply),
      mintable: true,
      admin_address: null,
      jetton_content: { uri: 'https://jettons.example/sim.json', decimals: '6' },
      jetton_wallet_code_hash: codeHashOf('jetton-wallet'),
      code_hash: codeHashOf('jetton-master'),
      data_hash: dataHashOf(transaction, 'after'),
      last_transaction_lt: String(transaction.lt),
    })),
    ...renderNames(
      rows.map(({ transaction }) => transaction.account),
      question,
    ),
  };
}

/** The commits of all transactions of the masters. */
function changes(question: SimulatorQuestion): readonly number[] {
  const commits = asked(question).flatMap((address) => question.chain.jettons.tables.commitsOf(address));
  return commits.map(({ seqno }) => question.chain.indexedAt(seqno));
}

export const jettonMasters = { name: 'jetton/masters', answer, changes } as const satisfies SimulatedOperation;
