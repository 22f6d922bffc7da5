import { isDeepStrictEqual } from 'node:util';
import type { ClientAnswer, ClientCall } from '../../../src/tools/demo/client.ts';
import { type Truth, truthsOf } from '../../../src/tools/demo/ground-truth.ts';
import type { Chain } from '../../../src/tools/simulator/chain.ts';

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
/** A change counts only if a client asked within this time before it: without polling nobody could see it at once. */
const POLLED_WITHIN_MS = 2000;

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

/** The truths of one call. Comparisons are kept, because most answers are equal. */
class KnownTruths {
  /** Newest first, because nearly every answer is one of the newest. */
  readonly #truths: readonly { readonly truth: Truth; readonly same: Map<string, boolean>; body?: unknown }[];

  constructor(truths: readonly Truth[]) {
    this.#truths = truths.toReversed().map((truth) => ({ truth, same: new Map() }));
  }

  /** The latest truth that began by an instant and equals this answer. */
  latestSaying(status: number, text: string, instant: number): Truth | undefined {
    let parsed: unknown;
    return this.#truths.find((known) => {
      const { truth, same } = known;
      if (truth.fromAt > instant || truth.status !== status) return false;
      // Through JSON, as over the wire: without members that are undefined.
      known.body ??= JSON.parse(JSON.stringify(truth.body()));
      parsed ??= parseJson(text);
      const isSame = same.get(text) ?? isDeepStrictEqual(known.body, parsed);
      same.set(text, isSame);
      return isSame;
    })?.truth;
  }
}

/** Text comes byte for byte. Undefined, which equals no truth, for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'latin1').toString());
  } catch {
    return undefined;
  }
}

/**
 * For each change of something that clients were polling: the time from the change to the first answer that shows it or a
 * later one, ms. The chain must have been advanced to the last answer.
 */
export function changesSeen(verdicts: readonly Verdict[], chain: Chain, about: 'message' | 'block'): number[] {
  const asked = verdicts.filter(({ answer }) => answer.call.about === about);
  return [...Map.groupBy(asked, ({ answer }) => keyOf(answer.call)).values()].flatMap((same) => {
    const call = same[0]?.answer.call;
    const changes = call === undefined ? [] : truthsOf(call, chain).map(({ fromAt }) => fromAt);
    return changes.flatMap((changedAt) => {
      const wasPolled = same.some(
        ({ answer: { sentAt } }) => sentAt < changedAt && sentAt >= changedAt - POLLED_WITHIN_MS,
      );
      const seenAt = same
        .filter(({ trueFrom }) => trueFrom !== undefined && trueFrom >= changedAt)
        .map(({ answer }) => answer.receivedAt);
      return wasPolled && seenAt.length > 0 ? [Math.min(...seenAt) - changedAt] : [];
    });
  });
}
