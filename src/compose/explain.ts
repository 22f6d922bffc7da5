import { FIRST_TRY } from '../admission/send-rules.ts';
import type { ExplainDependencies, ExplainedIndexer } from '../answer/explain.ts';
import { ProxyError } from '../errors.ts';
import { isBelow, parseTarget } from '../http/parse-request.ts';
import { mayJoin } from '../http/pass-through/joined-requests.ts';
import { refusedTarget } from '../http/pass-through/pass-on.ts';
import { pathKey } from '../http/pass-through/passable-target.ts';
import { notServedAt, type ServedPaths, servedAt } from '../http/public/served-paths.ts';
import { STREAM_PATHS } from '../http/streaming/streaming.ts';
import { seqnoOf } from '../ton/parse-call.ts';
import type { OpenIndexers } from './indexers.ts';

/** How requests are explained that the cache does not answer. `joins`: true if equal passed-through requests are joined. */
export function explainers(
  { all, whyNot }: Pick<OpenIndexers, 'all' | 'whyNot'>,
  paths: ServedPaths,
  joins: boolean,
): Pick<ExplainDependencies, 'passed' | 'indexersFor'> {
  const named = (reasons: ReturnType<typeof whyNot>, operation?: string): ExplainedIndexer[] =>
    all.map(({ name, breakers }, index) => {
      if (reasons[index] !== undefined) return { name, whyNot: reasons[index] };
      const isTrial = breakers.get(operation ?? '')?.breaker.state === 'half-open';
      return { name, ...(isTrial && { isTrial }) };
    });
  return {
    indexersFor: (call, key) =>
      named(
        whyNot({ ...FIRST_TRY, seqno: seqnoOf(call), operation: call.operation.name, key, clients: [] }),
        call.operation.name,
      ),
    passed: (target, headers) => {
      const parsed = parseTarget(target);
      const refused = servedAt(parsed, paths).pass === undefined ? notServedAt(parsed, paths) : undefined;
      const wrong = refused ?? refusedTarget(target, paths.operations);
      if (wrong instanceof ProxyError) return wrong;
      const isStream = isBelow(STREAM_PATHS, parsed);
      const isJoined = joins && mayJoin({ request: { method: 'GET', headers }, target });
      return {
        target,
        notCached: isJoined ? 'passed through, collapsed with identical requests' : 'passed through',
        indexers: isStream
          ? []
          : named(whyNot({ ...FIRST_TRY, operation: 'passthrough', key: pathKey('GET', target), clients: [] })),
      };
    },
  };
}
