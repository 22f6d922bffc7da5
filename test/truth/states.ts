import { answer } from '../../src/tools/simulator/answer.ts';
import type { Chain } from '../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { Question } from '../../src/tools/simulator/question.ts';
import { changesOf, type Trace } from '../../src/tools/simulator/trace.ts';
import { type Call, nameOf, writeCanonically } from './call.ts';
import { chainAsOf } from './chain-as-of.ts';

/** What the indexer says to a call from one change of the chain to the next. Instants are epoch ms. */
export interface State {
  readonly fromAt: number;
  readonly untilAt: number;
  /** Made when it is looked at: most states never are. */
  readonly said: () => Said;
}

/** An answer of the indexer, byte for byte. */
export interface Said {
  readonly status: number;
  readonly text: string;
}

/** Of an account, traces that are further back among the newest ones are over for long. */
const TRACES_BACK = 400;
const MOST_KEPT = 20_000;

/** Every state that the indexer had for a call: its own answers, asked of the chain as it was at each change. */
export class States {
  readonly #chain: Chain;
  readonly #dialect: Dialect;
  readonly #said = new Map<string, Said>();

  /** @param chain The indexer's chain, further on than the present: what is to come of a trace is known. */
  constructor(chain: Chain, dialect: Dialect) {
    this.#chain = chain;
    this.#dialect = dialect;
  }

  /** Oldest first, without gaps, the ones that are to come included. */
  of(call: Call): readonly State[] {
    const changes = [...new Set(this.#changesOf(call))].filter(Number.isFinite).sort((a, b) => a - b);
    const name = nameOf(call);
    return [Number.NEGATIVE_INFINITY, ...changes].map((fromAt, place) => ({
      fromAt,
      untilAt: changes[place] ?? Number.POSITIVE_INFINITY,
      said: () => this.#ask(call, name, fromAt),
    }));
  }

  #ask(call: Call, name: string, instant: number): Said {
    const key = `${instant} ${name}`;
    const known = this.#said.get(key);
    if (known !== undefined) return known;
    const { target, headers } = writeCanonically(call);
    const lowered = Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]));
    const view = chainAsOf(this.#chain, instant);
    const asked = { method: 'GET', target, headers: lowered, body: Buffer.alloc(0) };
    const { status, body } = answer(new Question(asked, view, this.#dialect));
    const said = { status, text: String(body) };
    if (this.#said.size >= MOST_KEPT) this.#said.clear();
    this.#said.set(key, said);
    return said;
  }

  #changesOf(call: Call): number[] {
    const { operation, hashes = [], seqno = 0 } = call;
    const chain = this.#chain;
    const commit = (of: { readonly seqno: number } | undefined) =>
      of === undefined ? [] : [chain.block(of.seqno)?.committedAt ?? Number.POSITIVE_INFINITY];
    if (operation === 'masterchainBlockShards') return commit({ seqno });
    if (operation === 'adjacentTransactions') {
      const transaction = chain.transaction(hashes[0] ?? '');
      return [transaction, transaction?.parent, ...(transaction?.children ?? [])].flatMap(commit);
    }
    return this.#tracesOf(call).flatMap(changesOf);
  }

  /** Those that an answer to `pendingTraces` can list at one time or another. */
  #tracesOf({ operation, accounts = [], hashes = [] }: Call): readonly Trace[] {
    if (operation !== 'pendingTraces') return [];
    const account = accounts.at(-1);
    return account === undefined
      ? hashes.flatMap((hash) => this.#chain.trace(hash) ?? [])
      : this.#chain.recentTraces(TRACES_BACK).filter((trace) => takesPart(trace, account.address));
  }
}

function takesPart({ transactions }: Trace, address: string): boolean {
  return transactions.some(({ account }) => account.address === address);
}
