import type { Chain } from '../../src/tools/simulator/chain.ts';
import type { Dialect } from '../../src/tools/simulator/dialect.ts';
import { pastAnswers, type Said } from '../../src/tools/simulator/past-answers.ts';
import { type Call, nameOf, writeCanonically } from './call.ts';
import { LITE_SERVER_MS } from './lite-servers.ts';

/** The indexer's answer to a call from one change of the chain to the next. Instants are epoch ms. */
export interface State {
  readonly fromAt: number;
  readonly untilAt: number;
  /** Created when it is read: most states never are. */
  readonly said: () => Said;
}

const MOST_KEPT = 20_000;

/** Every state that the indexer had for a call. States that were read are remembered. */
export class States {
  readonly #chain: Chain;
  readonly #dialect: Dialect;
  readonly #said = new Map<string, Said>();

  /** @param chain The indexer's chain, further on than the present: the future of a trace is known. */
  constructor(chain: Chain, dialect: Dialect) {
    this.#chain = chain;
    this.#dialect = dialect;
  }

  /** Oldest first, without gaps, including future states. */
  of(call: Call): readonly State[] {
    const name = nameOf(call);
    const { target, headers, body } = writeCanonically(call);
    const lowered = Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]));
    const posted = body === undefined ? { method: 'GET' } : { method: 'POST', body: Buffer.from(body) };
    const asked = { ...posted, target, headers: lowered };
    // A lite server may have executed what the indexer lacks.
    const aheadMs = call.operation === 'runGetMethod' ? LITE_SERVER_MS : 0;
    return pastAnswers(asked, this.#chain, this.#dialect).map(({ fromAt, untilAt, said }) => ({
      fromAt: fromAt - aheadMs,
      untilAt,
      said: () => this.#remember(`${fromAt} ${name}`, said),
    }));
  }

  #remember(key: string, said: () => Said): Said {
    const known = this.#said.get(key);
    if (known !== undefined) return known;
    const remembered = said();
    if (this.#said.size >= MOST_KEPT) this.#said.clear();
    this.#said.set(key, remembered);
    return remembered;
  }
}
