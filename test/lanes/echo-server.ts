import type { Answer, ProxyRequest } from '../../src/answer/answer.ts';
import type { Entry } from '../../src/cache/entry.ts';
import type { SentBody } from '../../src/cache/gzip.ts';
import { ProxyError } from '../../src/errors.ts';
import type { PublicServer } from '../../src/http/public/public-server.ts';
import { OPERATIONS } from '../../src/ton/operations.ts';
import { anEntry, someGzip } from '../support/entry.ts';
import { loneServer } from './lone-server.ts';

export const MAX_HEAD_BYTES = 2048;
const NOW = 1_700_000_012_345;

/**
 * Each answer contains its request as the server understood it. So equal answers mean that both lanes understood the
 * same.
 */
export function startEchoServer({ fastLane }: { readonly fastLane: boolean }): PublicServer {
  const hits = new Map<string, Entry>();
  const hitOf = (spelling: string) => {
    if (hits.size > 1000) hits.clear();
    const known = hits.get(spelling);
    if (known !== undefined) return known;
    const size = spelling.includes('large') ? 300_000 : 0;
    const entry = anEntry({
      body: Buffer.from(JSON.stringify([spelling, 'x'.repeat(size)])),
      askedAt: NOW - 5000,
      etag: `"tag of ${encodeURIComponent(spelling.slice(spelling.indexOf('?') + 1))}"`,
    });
    hits.set(spelling, entry);
    return entry;
  };
  const answerOf = ({ operation, rawQuery, headers }: ProxyRequest): Answer => {
    const read = [...operation.headerNames].map((name) => headers[name] ?? '').join();
    const entry = hitOf(`${operation.name}?${rawQuery}${read.replaceAll(',', '') === '' ? '' : `&${read}`}`);
    return { kind: 'hit', tier: 'memory', entry, key: entry.key, collapsed: false, at: NOW };
  };
  // Stands for the memo of calls: it holds what one of the parsers has accepted.
  const remembered = new Set<string>();
  const gzip = someGzip({ enabled: false });
  const findHit = (spelling: string, acceptsGzip: boolean) => {
    const operation = OPERATIONS.get(spelling.slice(0, spelling.indexOf('?')));
    if (operation === undefined || !remembered.has(spelling)) return undefined;
    const entry = hitOf(spelling);
    const call = { operation, request: { query: [], headers: [] }, tags: [] };
    const sent = gzip.bodyFor(entry, acceptsGzip) as SentBody;
    return { kind: 'hit', tier: 'memory', entry, sent, call, key: spelling, collapsed: false, at: NOW } as const;
  };
  const handle = (request: ProxyRequest): Answer | Promise<Answer> => {
    if (request.rawQuery.startsWith('hit')) {
      remembered.add(`${request.operation.name}?${request.rawQuery}`);
      return answerOf(request);
    }
    if (!request.rawQuery.startsWith('miss')) throw new ProxyError('invalid-request', `not ${request.rawQuery}`);
    const wait = request.openWait();
    return new Promise((resolve) => {
      setImmediate(() => {
        wait?.close();
        resolve(
          wait?.reason === undefined
            ? answerOf(request)
            : { kind: 'failed', error: wait.reason, key: '', collapsed: false, at: NOW },
        );
      });
    });
  };
  return loneServer({
    handler: { handle },
    hits: fastLane ? { findHit, countHit: () => {} } : undefined,
    gzip,
    now: () => NOW,
    maxHeaderBytes: MAX_HEAD_BYTES,
    keepAliveMs: 65_000,
  });
}
