import type { Account } from '../../src/tools/simulator/accounts.ts';
import type { Chain } from '../../src/tools/simulator/chain.ts';
import type { Indexer } from '../../src/tools/simulator/indexer.ts';
import { writeAddressCell } from '../../src/tools/simulator/transfer-body.ts';

const ANY_JSON = { kind: 'answer', status: 200, body: '{"ok":true}' } as const;

/** Lets a simulated indexer answer the requests of the census that it does not know: with some JSON. */
export function answerUnknown({ faults }: Indexer): void {
  for (const operation of ['other', 'message'] as const) faults.inject(ANY_JSON, { operation });
  for (const query of ['body_hash=', 'use_v2=true', 'end_lt=']) faults.inject(ANY_JSON, { query });
}

/**
 * The words of a row of the census: of two accounts, the account's wallet of a jetton, a pool, a committed block,
 * and a finished trace (`nth`: 0 is the newest).
 */
export function valuesOf(chain: Chain, account: Account, other: Account, nth = 0): Readonly<Record<string, string>> {
  const traces = chain.recentTraces(200);
  const ended = traces.filter(({ transactions, goneAt }) => transactions.length > 3 && goneAt < chain.now);
  const trace = ended[nth % ended.length];
  const [first, second] = trace?.transactions ?? [];
  if (trace === undefined || first === undefined || second?.messageHash === undefined)
    throw new Error('no trace has ended yet');
  const [pool] = chain.accounts.contracts;
  const master = chain.jettons.steady?.master ?? chain.jettons.masters[0];
  if (master === undefined || pool === undefined) throw new Error('the chain has no jetton, or no contracts');
  return {
    MASTER: master.friendly,
    WALLET: chain.jettons.walletOf(account, master).friendly,
    POOL: pool.friendly,
    CELL: writeAddressCell(account),
    ACCOUNT: account.friendly,
    OTHER: other.friendly,
    TX: encodeURIComponent(first.hash),
    HEX: Buffer.from(first.hash, 'base64').toString('hex'),
    MESSAGE: encodeURIComponent(second.messageHash),
    EXTERNAL: encodeURIComponent(trace.externalHash),
    SEQNO: String(chain.headSeqno - 20),
    LT: String(first.lt),
  };
}
