import { isDeepStrictEqual } from 'node:util';
import type { ClientAnswer, ClientCall } from '../../../src/demo/client.ts';
import { type Truth, truthsOf } from '../../../src/demo/ground-truth.ts';
import type { Chain } from '../../../src/simulator/chain.ts';

/** One answer, held against the chain. */
export interface Verdict {
  readonly answer: ClientAnswer;
  /**
   * `right`: true at some instant between the asking and the receiving, or no longer before than an answer of its class
   * may be given again; `lie`: any other 200 or 404; `failed`: every other status, and no answer.
   */
  readonly kind: 'right' | 'lie' | 'failed';
  /** How long before the request the answer had stopped being true, ms; 0 when it had not, and for failures. */
  readonly staleMs: number;
  /** When the answer became true, epoch ms; undefined when it never did, and for failures. */
  readonly trueFrom: number | undefined;
}

/** Added to every window: a request that joins a load gets an answer from when the load began. */
const FLIGHT_MS = 1000;
/** The chain is advanced in such steps, because `truthsOf` knows only the last 30 s of an account. */
const WINDOW_MS = 5000;

/**
 * Judges answers by the lifetimes that toncache promises, whoever gave them. The chain must not be ahead of the first answer;
 * it is advanced to the last one.
 */
export function judge(answers: readonly ClientAnswer[], chain: Chain): Verdict[] {
  const windows = Map.groupBy(answers, ({ receivedAt }) => Math.floor(receivedAt / WINDOW_MS));
  return [...windows]
    .sort(([a], [b]) => a - b)
    .flatMap(([number, inWindow]) => {
      chain.advanceTo((number + 1) * WINDOW_MS);
      const known = new Map<string, KnownTruths>();
      return inWindow.map((answer) => {
        const key = keyOf(answer.call);
        const truths = known.get(key) ?? new KnownTruths(truthsOf(answer.call, chain));
        known.set(key, truths);
        return verdictOn(answer, truths);
      });
    });
}

/** One key for all spellings of a call. */
export function keyOf(call: ClientCall): string {
  switch (call.about) {
    case 'message':
      return `message ${call.externalHash}`;
    case 'account':
      return `account ${call.account.address}`;
    case 'transaction':
      return `transaction ${call.hash} ${call.direction}`;
    case 'block':
      return `block ${call.seqno}`;
  }
}

function verdictOn(answer: ClientAnswer, truths: KnownTruths): Verdict {
  const { status, sentAt, receivedAt, text } = answer;
  if (status !== 200 && status !== 404) return { answer, kind: 'failed', staleMs: 0, trueFrom: undefined };
  const truth = truths.latestSaying(status, text, receivedAt);
  if (truth === undefined) return { answer, kind: 'lie', staleMs: 0, trueFrom: undefined };
  const staleMs = Math.max(0, sentAt - truth.untilAt);
  const kind = staleMs <= truth.mayAgeMs + FLIGHT_MS ? 'right' : 'lie';
  return { answer, kind, staleMs, trueFrom: truth.fromAt };
}

/** The truths of one call. Rendered bodies and comparisons are kept, because most answers are equal. */
class KnownTruths {
  /** Newest first, because nearly every answer is one of the newest. */
  readonly #truths: readonly Truth[];
  readonly #bodies = new Map<Truth, unknown>();
  readonly #parsed = new Map<string, unknown>();
  readonly #compared = new Map<string, Map<Truth, boolean>>();

  constructor(truths: readonly Truth[]) {
    this.#truths = truths.toReversed();
  }

  /** The latest truth that began by an instant and equals this answer. */
  latestSaying(status: number, text: string, instant: number): Truth | undefined {
    const compared = this.#compared.get(text) ?? new Map<Truth, boolean>();
    this.#compared.set(text, compared);
    return this.#truths.find((truth) => {
      if (truth.fromAt > instant || truth.status !== status) return false;
      const isSame = compared.get(truth) ?? isDeepStrictEqual(this.#bodyOf(truth), this.#parse(text));
      compared.set(truth, isSame);
      return isSame;
    });
  }

  #parse(text: string): unknown {
    const parsed = this.#parsed.get(text) ?? parseJson(Buffer.from(text, 'latin1').toString());
    this.#parsed.set(text, parsed);
    return parsed;
  }

  /** Through JSON, as over the wire: without members that are undefined. */
  #bodyOf(truth: Truth): unknown {
    const body = this.#bodies.get(truth) ?? JSON.parse(JSON.stringify(truth.body()));
    this.#bodies.set(truth, body);
    return body;
  }
}

/** Undefined, which equals no truth, for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
