import type { TransferTransaction } from '../jetton-tables.ts';
import type { SimulatedOperation } from '../operation.ts';
import type { SimulatorQuestion } from '../question.ts';
import { renderNames } from '../render-jettons.ts';

/** All transfers, past and known, from or to the requested owners or from the wallets; aborted ones are in no list. */
function candidates(question: SimulatorQuestion): readonly TransferTransaction[] {
  const { tables } = question.chain.jettons;
  const filters = ['owner_address', 'jetton_wallet'].map((name) => question.addressFilter(name));
  const first = filters.find((given) => given.length > 0);
  return first === undefined
    ? tables.allTransfers
    : [...new Set(first.flatMap((address) => tables.transfersOf(address)))];
}

/** True for the transfers that match all given filters. */
function conditionOf(question: SimulatorQuestion): (transfer: TransferTransaction) => boolean {
  const owners = question.addressFilter('owner_address');
  const wallets = question.addressFilter('jetton_wallet');
  const jetton = question.address('jetton_master');
  const direction = question.scalar('direction');
  return ({ account, lt, now, effect: { transfer } }) => {
    const { source, destination, master } = transfer;
    const [isFrom, isTo] = [owners.includes(source.address), owners.includes(destination.address)];
    // Any word but `in` means the other direction, the empty one, too.
    const isOfOwner = direction === undefined ? isFrom || isTo : direction === 'in' ? isTo : isFrom;
    return (
      (owners.length === 0 || isOfOwner) &&
      (wallets.length === 0 || wallets.includes(account.address)) &&
      (jetton === undefined || jetton === master.address) &&
      question.isWithinBounds({ lt, now })
    );
  };
}

/** Transfers by their owners, wallets and jetton, the newest first by default. */
function answer(question: SimulatorQuestion): object {
  const { chain, databaseAt } = question;
  const committed = candidates(question).filter(({ hash }) => chain.transaction(hash, databaseAt) !== undefined);
  const isByTime = ['start_utime', 'end_utime'].some((name) => question.unsigned(name) !== undefined);
  const found = committed.filter(conditionOf(question)).sort((a, b) => (isByTime ? b.now - a.now : 0) || b.lt - a.lt);
  const rows = question.selectAll(question.sortedPage(found));
  return {
    jetton_transfers: rows.map(renderTransfer),
    ...renderNames(
      rows.flatMap(({ account, effect: { transfer } }) => [
        transfer.source,
        transfer.destination,
        account,
        transfer.master,
      ]),
      question,
    ),
  };
}

function renderTransfer({
  account,
  hash,
  messageHash = '',
  lt,
  now,
  effect: { transfer },
}: TransferTransaction): object {
  const { source, destination, master, amount } = transfer;
  return {
    query_id: String(Buffer.from(messageHash, 'base64').readBigUInt64BE()),
    source: source.address,
    destination: destination.address,
    amount: String(amount),
    source_wallet: account.address,
    jetton_master: master.address,
    transaction_hash: hash,
    transaction_lt: String(lt),
    transaction_now: now,
    transaction_aborted: false,
    response_destination: source.address,
    custom_payload: null,
    decoded_custom_payload: null,
    forward_ton_amount: '1',
    forward_payload: null,
    decoded_forward_payload: null,
    trace_id: hash,
  };
}

/** The commits of the transfers, and of the wallets in `metadata`. */
function changes(question: SimulatorQuestion): readonly number[] {
  const { tables } = question.chain.jettons;
  const transfers = candidates(question);
  const wallets = new Set(transfers.map(({ account }) => account.address));
  const ofWallets = question.flag('X-No-Metadata') ? [] : [...wallets].flatMap((address) => tables.commitsOf(address));
  return [...transfers, ...ofWallets].map(({ seqno }) => question.chain.indexedAt(seqno));
}

export const jettonTransfers = { name: 'jetton/transfers', answer, changes } as const satisfies SimulatedOperation;
