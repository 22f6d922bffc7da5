import { Chain } from '../../../src/simulator/chain.ts';
import type { Dialect } from '../../../src/simulator/dialect.ts';
import { type Indexer, startIndexer } from '../../../src/simulator/indexer.ts';
import { type Asking, ask } from './ask-indexer.ts';

const START = 1_800_000_000_000;

/** The versions of the indexer that exist. */
export const VERSIONS: readonly Dialect[] = ['1.2', '1.3'];

/** An indexer, and what it can be asked about. */
export interface InputsWorld {
  readonly indexer: Indexer;
  /** The canonical hash of a large trace that is pending, percent-encoded, and its sender. */
  readonly message: string;
  readonly sender: { readonly address: string; readonly hash: Buffer };
  /** The hash of a transaction with a parent and with children, percent-encoded. */
  readonly hash: string;
  /** The newest masterchain block. */
  readonly seqno: number;
  /** Status and text of an answer. */
  asked(target: string, headers?: Asking['headers']): Promise<string>;
}

/** Starts an indexer of a version; its caller closes it. */
export async function startInputsWorld(dialect: Dialect): Promise<InputsWorld> {
  let present = START + 60 * 400;
  const indexer = await startIndexer({ dialect, chain: new Chain({ startAt: START }), now: () => present });
  const { chain } = indexer;
  const middle = chain
    .recentTraces(200)
    .flatMap(({ transactions }) => transactions)
    .find((transaction) => chain.parent(transaction.hash) !== undefined && chain.children(transaction.hash).length > 0);
  let trace = chain.trace(chain.send());
  while (trace !== undefined && trace.transactions.length < 6) trace = chain.trace(chain.send());
  const sender = trace?.transactions[0]?.account;
  if (middle === undefined || trace === undefined || sender === undefined) throw new Error('the chain is empty');
  present = trace.emulatedAt;
  return {
    indexer,
    message: encodeURIComponent(trace.externalHash),
    sender,
    hash: encodeURIComponent(middle.hash),
    seqno: chain.headSeqno,
    asked: async (target, headers = {}) => {
      const { status, text } = await ask(indexer, `/api/v3/${target}`, { headers });
      return `${status} ${text}`;
    },
  };
}
