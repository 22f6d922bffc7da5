import type { FirstPage } from './further-meanings.ts';
import type { Meaning } from './meaning.ts';

const NOBODY = { workchain: Number.NaN, hash: Buffer.alloc(0) };

/**
 * The meaning that the indexer reads from a canonical request: its query is decoded as a form. Header names are in
 * lower case.
 */
export function sentMeaning(target: string, headers: Readonly<Record<string, unknown>>): Meaning {
  const { pathname, searchParams: query } = new URL(target, 'http://x');
  const operation = pathname.slice('/api/v3/'.length) as Meaning['operation'];
  const accountIn = (name: string) => {
    const [workchain, hash] = query.get(name)?.split(':') ?? [];
    return hash === undefined ? undefined : { workchain: Number(workchain), hash: Buffer.from(hash, 'hex') };
  };
  const number = (name: string) => (query.has(name) ? Number(query.get(name)) : undefined);
  const bytes = (name: string) => Buffer.from(query.get(name) ?? '', 'base64');
  const direction = (query.get('direction') as 'in' | 'out' | null) ?? undefined;
  const version = headers['x-actions-version'];
  const actions = typeof version === 'string' ? [version] : query.getAll('supported_action_types');
  const noAddressBook = headers['x-no-address-book'] === 'true';
  const noMetadata = headers['x-no-metadata'] === 'true';
  const names = { noAddressBook, noMetadata };
  const sort = (query.get('sort') as 'asc' | 'desc' | null) ?? undefined;
  const firstPage: FirstPage = { limit: number('limit'), sort };
  const page = { ...firstPage, offset: number('offset') };
  const seqno = number('seqno') ?? Number.NaN;
  switch (operation) {
    case 'pendingTraces': {
      const hashes = query.getAll('ext_msg_hash');
      const accounts = query.getAll('account').map((account) => {
        const [workchain, hash = ''] = account.split(':');
        return { workchain: Number(workchain), hash: Buffer.from(hash, 'hex') };
      });
      const extMsgHashes = hashes.filter((hash) => hash !== '').map((hash) => Buffer.from(hash, 'base64'));
      return { operation, accounts, extMsgHashes, emptyHash: hashes.includes(''), actions, noAddressBook, noMetadata };
    }
    case 'adjacentTransactions':
      return { operation, hash: bytes('hash'), direction, noAddressBook };
    case 'masterchainBlockShards':
      return { operation, seqno, ...page };
    case 'blocks': {
      if (query.has('mc_seqno')) return { operation, by: 'mc_seqno', seqno: number('mc_seqno') ?? Number.NaN, ...page };
      const by = (['root_hash', 'file_hash'] as const).find((name) => query.has(name));
      if (by !== undefined) return { operation, by, hash: bytes(by), ...page };
      const shard = query.has('shard') ? BigInt(`0x${query.get('shard')}`) : undefined;
      return { operation, by: 'block', workchain: number('workchain') ?? Number.NaN, shard, seqno, ...page };
    }
    case 'transactionsByMasterchainBlock':
      return { operation, seqno, noAddressBook, ...page };
    case 'masterchainInfo':
      return { operation };
    case 'traces': {
      const by = (['tx_hash', 'trace_id'] as const).find((name) => query.has(name)) ?? 'msg_hash';
      const includeActions = query.get('include_actions') === 'true';
      return { operation, by, hash: bytes(by), includeActions, actions, noAddressBook, noMetadata, ...firstPage };
    }
    case 'transactions': {
      const account = accountIn('account');
      if (account === undefined) return { operation, hash: bytes('hash'), noAddressBook, ...firstPage };
      const startLt = query.has('start_lt') ? BigInt(query.get('start_lt') ?? '') : undefined;
      return { operation, account, startLt, startUtime: number('start_utime'), noAddressBook, ...firstPage };
    }
    case 'addressInformation':
    case 'walletInformation':
      return { operation, account: accountIn('address') ?? NOBODY };
    case 'accountStates':
    case 'walletStates': {
      const includeBoc = query.get('include_boc') !== 'false';
      return { operation, account: accountIn('address') ?? NOBODY, includeBoc, ...names };
    }
    case 'jetton/masters':
      return { operation, account: accountIn('address') ?? NOBODY, limit: number('limit'), ...names };
    case 'jetton/wallets': {
      const account = accountIn('address');
      if (account !== undefined) return { operation, account, limit: number('limit'), ...names };
      const [owner, jetton] = [accountIn('owner_address') ?? NOBODY, accountIn('jetton_address')];
      const omitsZero = query.get('exclude_zero_balance') === 'true';
      return { operation, owner, jetton, omitsZero, ...firstPage, ...names };
    }
    case 'jetton/transfers': {
      const startLt = query.has('start_lt') ? BigInt(query.get('start_lt') ?? '') : undefined;
      const desc = sort === 'desc' ? sort : undefined;
      const common = { startLt, startUtime: number('start_utime'), limit: number('limit'), sort: desc, ...names };
      const [owner, wallet] = [accountIn('owner_address'), accountIn('jetton_wallet')];
      if (owner !== undefined) return { operation, owner, direction, ...common };
      return { operation, wallet: wallet ?? NOBODY, ...common };
    }
    case 'transactionsByMessage':
      return { operation, hash: bytes('msg_hash'), direction, noAddressBook, ...firstPage };
  }
}
