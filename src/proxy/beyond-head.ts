import { completenessOf, type Entry, NO_MEMBERS } from '../cache/entry.ts';
import { formsOf } from '../cache/forms.ts';
import { entityTagOf } from '../content-codings.ts';
import { askedSeqno, BLOCKS_NOT_FOUND } from '../ton/masterchain-seqno.ts';
import type { Call } from '../ton/parse-call.ts';
import type { ChainHead } from './chain-head.ts';

/** The indexer's own 404 to a call that names a block which cannot exist yet; `undefined` for all other calls. */
export type AnswerBeyondHead = (call: Call, key: string) => Entry | undefined;

const ETAG = entityTagOf(BLOCKS_NOT_FOUND);

/** `now`: epoch milliseconds. The entry is for this one answer: it is never stored. */
export function answerBeyondHeadWith(chainHead: ChainHead, now: () => number): AnswerBeyondHead {
  return (call, key) => {
    const seqno = askedSeqno(call);
    if (seqno === undefined || !chainHead.isBeyond(seqno)) return undefined;
    const at = now();
    return {
      key,
      head: {
        status: 404,
        contentType: 'application/json',
        apiVersion: chainHead.apiVersion,
        answerClass: 'absent',
        maxAgeSeconds: 0,
      },
      etag: ETAG,
      forms: formsOf(BLOCKS_NOT_FOUND),
      askedAt: at,
      freshUntil: at,
      staleWhileRevalidate: 0,
      staleIfError: 0,
      memoryTtl: 0,
      lifetime: 0,
      completeness: completenessOf(0, NO_MEMBERS, NO_MEMBERS),
      regressedSince: undefined,
    };
  };
}
