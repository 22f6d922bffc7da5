import type { Answer } from './asker.ts';
import { cacheHeaders, promiseOf } from './cache-headers.ts';
import type { Run } from './run.ts';

/**
 * A final answer is asked for again: the same bytes, from the cache; without a body for HEAD, and for whoever has it
 * already. Does nothing for other answers: those may have to be asked for again.
 */
export async function checkRepeat(run: Run, first: Answer, respelled = first.target): Promise<void> {
  const { target, status, headers } = first;
  if (status !== 200 || promiseOf(headers) !== 'final') return;
  const { etag } = cacheHeaders(headers);
  const again = await run.toncache.ask(respelled);
  const head = await run.toncache.ask(target, { method: 'HEAD' });
  const conditional = await run.toncache.ask(target, { headers: { 'If-None-Match': etag ?? '' } });

  const problems: string[] = [];
  const mustBe = (isSo: boolean, problem: string) => void (isSo || problems.push(problem));
  const second = cacheHeaders(again.headers);
  mustBe(second.hit, `no hit the second time (${second.status})`);
  mustBe(again.bytes.equals(first.bytes), 'other bytes the second time');
  for (const [name, { headers }] of Object.entries({ GET: again, HEAD: head, 'the conditional GET': conditional })) {
    mustBe(headers.get('etag') === etag, `${name} has another ETag`);
    mustBe(headers.has('age'), `${name} has no Age`);
  }
  mustBe(head.status === 200 && head.bytes.length === 0, `HEAD gives ${head.status}, ${head.bytes.length} bytes`);
  mustBe(head.headers.get('content-length') === String(first.bytes.length), 'HEAD has another Content-Length');
  mustBe(conditional.status === 304, `If-None-Match gives ${conditional.status}`);
  const cost = [again, head, conditional].reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0);
  mustBe(cost === 0, `asking again cost ${cost} requests at the indexer`);
  run.report.add({ check: 'asked again', asked: respelled, problems, detail: 'hit, HEAD, 304' });
}
